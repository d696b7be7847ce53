import { meters } from './support/overview';
import { expect, test } from './support/test';

test.use({ serverGoes: true });

test('a killed server is said to be gone, and the page recovers by itself', async ({ page, spillway }) => {
  await spillway.call('ana', 6);
  await page.goto(spillway.dashboard);
  const connection = page.locator('.connection');
  await expect(connection).toContainText('Live');

  await spillway.killServer();
  await expect(connection).toContainText('Disconnected');
  await expect(connection).toContainText(/values \d+(\.\d)? s old/);
  await expect(page.locator('.notice')).toContainText('Spillway cannot be reached.');
  // Nothing is shown as current: gauges are grey and print their age.
  await expect(page.locator('.values')).toHaveClass(/\bold\b/);
  await expect(page.locator('.gauge .cap').first()).toHaveText(/^\d.* old$/);

  await spillway.startServer();
  await expect(connection).toContainText('Live', { timeout: 20_000 });
  await expect(page.locator('.notice')).toContainText('Spillway was restarted');
  await expect(page.locator('.values')).not.toHaveClass(/\bold\b/);

  const before = (await meters(page))['User ana: Hour'].used;
  await spillway.call('ana', 2);
  await expect.poll(async () => (await meters(page))['User ana: Hour'].used).toBe(before + 2);
});

test('a page that never reached the stream says so instead of waiting', async ({ page, spillway }) => {
  await spillway.call('ana', 1);
  await page.route('**/api/v1/live', (route) => route.abort('connectionrefused'));
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Disconnected');
  await page.unroute('**/api/v1/live');
  await expect(page.locator('.connection')).toContainText('Live', { timeout: 20_000 });
});
