import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { APP } from './support/processes';
import { expect, test } from './support/test';

/** Graph throttles the app and asks for ten minutes. */
const THROTTLED = { status: 429, retry_after: '600', headers: { 'x-ms-throttle-scope': 'Application' } };

/** The page is as it was when it was served: asks for it until it is written down there that something is wrong. */
async function untilWrong(page: Page, dashboard: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.goto(`${dashboard}/alerts`);
      return page.getByRole('region', { name: 'What goes on' }).count();
    }, { timeout: 20_000 })
    .toBe(1);
}

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('the page says that all is clear, who is told, and then what is wrong', async ({ page, spillway }) => {
    await page.goto(spillway.dashboard);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Alerts' }).click();
    await expect(page.getByText('Nothing is wrong that somebody would have to know of.')).toBeVisible();
    await expect(page.getByText(/^Nobody is told: the configuration has neither/)).toBeVisible();
    await expect(page.getByRole('region', { name: 'What is over' })).toContainText('Nothing in the last thirty days.');

    await spillway.inject({ fault: THROTTLED });
    expect(await spillway.tryCall('ana')).toBe(429);
    await untilWrong(page, spillway.dashboard);
    const going = page.getByRole('region', { name: 'What goes on' }).getByRole('listitem');
    await expect(going).toContainText(`Breaker open: app ${APP} at graph/onenote`);
    await expect(going).toContainText('Nobody was told: it has not lasted long enough.');
    await expect(going).toContainText('The upstream said that it throttles.');
    await expect(going.locator('.pill')).toHaveText('Being watched');
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, nor is anything wider than the page', async ({ page, spillway }) => {
      await spillway.inject({ fault: THROTTLED });
      expect(await spillway.tryCall('ana')).toBe(429);
      await untilWrong(page, spillway.dashboard);
      for (const width of [1240, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(wider).toBeLessThanOrEqual(0);
      }
    });
  });
}
