import AxeBuilder from '@axe-core/playwright';
import { expect, test } from './support/test';

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, at either width', async ({ page, spillway }) => {
      await spillway.call('ana', 110);
      await spillway.call('kim', 2, { 'Spillway-Lane': 'background' });
      await page.goto(spillway.dashboard);
      await expect(page.locator('.connection')).toContainText('Live');
      // In danger and at rest, wide and narrow.
      await expect(page.locator('.users .pill.near')).toBeVisible();
      for (const width of [1240, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
      }
      await page.getByText('As a table').click();
      expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    });
  });
}

test('nothing is wider than a phone of 360 px', async ({ page, spillway }) => {
  await spillway.call('somebody.with.a.rather.long.name@tenant-with-a-long-name.example', 110);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  const wider = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(await wider()).toBeLessThanOrEqual(0);
  await page.getByText('As a table').click();
  expect(await wider()).toBeLessThanOrEqual(0);
});

test.describe('where the clocks are set otherwise', () => {
  test.use({ timezoneId: 'Asia/Kathmandu' });

  test('the local time stands beside UTC', async ({ page, spillway }) => {
    await page.goto(spillway.dashboard);
    await expect(page.locator('.as-of time')).toHaveAttribute('datetime', /^\d{4}-\d\d-\d\dT.*Z$/);
    await expect(page.locator('.as-of time')).toHaveText(/UTC$/);
    await expect(page.locator('.as-of .local')).toHaveText(/^\d\d:\d\d:\d\d local$/);
  });
});
