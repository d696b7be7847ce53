import { meters } from './support/overview';
import { expect, test } from './support/test';

// Case 45 [eventsource#27, dreb#365], as far as the overview goes; that of pages under migration comes with these.
test.use({ serverGoes: true });

test('the server restarts while a viewer is connected: the viewer shows what happened in between', async ({ page, spillway }) => {
  await spillway.call('ana', 3);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  const loaded = await page.evaluate(() => performance.timeOrigin);

  // The page finds its way back only after others have.
  await page.route('**/api/v1/live', (route) => route.abort('connectionrefused'));
  await spillway.killServer();
  await expect(page.locator('.connection')).toContainText('Disconnected');
  await spillway.startServer();
  await spillway.call('ana', 4);
  await spillway.call('ben', 2);
  await spillway.steer('pause', { scope: 'user', tenant: 'contoso', user: 'ben' });
  // What it shows until then is old, and it says so.
  expect((await meters(page))['User ana: Hour'].used).toBe(3);
  await expect(page.locator('.values')).toHaveClass(/\bold\b/);

  await page.unroute('**/api/v1/live');
  await expect(page.locator('.connection')).toContainText('Live', { timeout: 30_000 });
  await expect(page.locator('.notice')).toContainText('Spillway was restarted');
  await expect.poll(async () => (await meters(page))['User ana: Hour'].used).toBe(7);
  await expect(page.getByRole('region', { name: 'Pauses', exact: true })).toContainText('User ben of graph');
  expect(await page.evaluate(() => performance.timeOrigin), 'nobody reloaded it').toBe(loaded);
});

test('30 s without network: the viewer catches up by itself', async ({ page, spillway }) => {
  test.setTimeout(120_000);
  const { line, dashboard } = await spillway.line();
  await spillway.call('ana', 3);
  await page.goto(dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  const loaded = await page.evaluate(() => performance.timeOrigin);

  // Nothing comes through any more, and no connection breaks.
  line.cut();
  await expect(page.locator('.values')).toHaveClass(/\bold\b/, { timeout: 30_000 });
  await spillway.call('ana', 10);
  await spillway.steer('pause', {});
  // The page itself says how long it has been.
  await expect(page.locator('.connection')).toContainText(/values 3\d(\.\d)? s old/, { timeout: 45_000 });
  expect((await meters(page))['User ana: Hour'].used).toBe(3);

  line.mend();
  await expect(page.locator('.connection')).toContainText('Live', { timeout: 30_000 });
  await expect.poll(async () => (await meters(page))['User ana: Hour'].used).toBe(13);
  await expect(page.getByRole('region', { name: 'Pauses', exact: true })).toContainText('All of graph');
  expect(await page.evaluate(() => performance.timeOrigin), 'nobody reloaded it').toBe(loaded);
  await page.close();
  await line.close();
});
