import { expect, test } from './support/test';

test('a tab that slept makes a new connection and shows what is true now', async ({ page, spillway }) => {
  let streams = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/api/v1/live')) streams++;
  });
  await page.clock.install();
  await spillway.call('ana', 3);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  expect(streams).toBe(1);

  // As if the lid had been closed for ten minutes.
  await page.clock.fastForward('10:00');
  // Perhaps more than one: this clock's timers have numbers too large for the page to clear.
  await expect.poll(() => streams).toBeGreaterThanOrEqual(2);
  await spillway.call('ana', 2);
  await expect(page.getByRole('meter', { name: 'User ana: Hour' })).toHaveAttribute('aria-valuenow', '5');
  await expect(page.locator('.connection')).toContainText('Live');
});
