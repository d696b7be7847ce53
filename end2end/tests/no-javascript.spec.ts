import { expected, meters } from './support/overview';
import { expect, test } from './support/test';

test.use({ javaScriptEnabled: false });

test('the page shows values with JavaScript off, and asks again by itself', async ({ page, spillway }) => {
  await spillway.call('ana', 7);
  await page.goto(spillway.dashboard);
  expect(await meters(page)).toEqual(expected(await spillway.state()));
  await expect(page.locator('.as-of time')).toHaveText(/^\d\d:\d\d:\d\d UTC$/);
  await expect(page.locator('.connection')).toContainText('Snapshot');
  await expect(page.getByRole('button', { name: 'Pause updates' })).toBeHidden();
  await expect(page.locator('.no-script')).toBeVisible();

  await spillway.call('ana', 4);
  const hour = page.getByRole('meter', { name: 'User ana: Hour' });
  await expect(hour).toHaveAttribute('aria-valuenow', '11', { timeout: 15_000 });
});
