import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { APP } from './support/processes';
import { expect, test } from './support/test';

/** What the upstream says when it throttles a whole app. */
const APP_THROTTLED = { status: 429, retry_after: '8', headers: { 'x-ms-throttle-scope': 'Application' } };

test('an open breaker says why and until when, counts down and recovers, all by itself', async ({ page, spillway }) => {
  await spillway.call('ana', 2);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(page.locator('.workload .head .pill')).toHaveText(['App clear']);
  const loaded = await page.evaluate(() => performance.timeOrigin);

  await spillway.inject({ fault: APP_THROTTLED });
  expect(await spillway.tryCall('ana')).toBe(429);
  const pill = page.locator('.workload .head .pill.full');
  await expect(pill).toHaveText(/^App open: upstream throttles, next try in \d s$/);
  await expect(page.locator('.lead')).toContainText(`Graph throttles the app ${APP}; all its users are hit.`);
  await expect(page.locator('.lead')).toContainText(/for another \d s, until .*\d\d:\d\d:\d\d UTC.*; then one is tried\./);
  await expect(page.getByRole('meter', { name: `App ${APP}: Hour` })).toHaveAttribute(
    'aria-valuetext',
    /Breaker open: upstream throttles, next try in \d s$/,
  );

  // Second by second, whether or not the server has news.
  const falling = await seconds(page, 3);
  expect(falling[0] - falling[1]).toBe(1);
  expect(falling[1] - falling[2]).toBe(1);

  await expect(page.locator('.workload .head .pill')).toHaveText(['App half-open: the next call is tried'], { timeout: 15_000 });
  await spillway.call('ana', 1);
  await expect(page.locator('.workload .head .pill')).toHaveText([/^App recovering: \d call/]);
  // Rounds of calls that pass, each twice as many, until as many as ever may be in flight.
  await expect(async () => {
    await spillway.call('ana', 4);
    await expect(page.locator('.workload .head .pill')).toHaveText(['App clear'], { timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
  await expect(page.locator('.lead')).toContainText('All clear');
  expect(await page.evaluate(() => performance.timeOrigin)).toBe(loaded);
});

test('a user whom the upstream throttles is counted, listed and named', async ({ page, spillway }) => {
  await spillway.call('kim', 1);
  await spillway.inject({ user: 'ana', fault: { status: 429, retry_after: '600' } });
  expect(await spillway.tryCall('ana')).toBe(429);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.workload .head .pill')).toHaveText(['App clear', 'Open: 1 user']);
  await expect(page.locator('.lead')).toContainText('Graph throttles ana; everyone else is clear.');
  const row = page.locator('.users tbody tr', { hasText: 'ana' });
  await expect(row.locator('.pill')).toHaveText('Open');
  // Far from any limit of ours: somebody else uses the quota, or it is smaller than we think.
  await expect(row).toContainText('throttled though room was left');
  await expect(row.locator('.frees')).toContainText('in 10 min');
});

test('what the upstream reports is a diamond with its true figure and age', async ({ page, spillway }) => {
  await spillway.inject({ user: 'ana', fault: { headers: { 'x-ms-throttle-limit-percentage': '0.85' } } });
  await spillway.call('ana', 1);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.workload .head .pill')).toHaveText(['App clear', 'Soft: 1 user']);
  await expect(page.locator('.owner .report')).toHaveText(/^upstream says 85 %, \d+ s ago$/);
  const hour = page.getByRole('meter', { name: 'User ana: Hour' });
  await expect(hour).toHaveAttribute('aria-valuetext', /Upstream says 85 %, \d+ s ago\. Breaker soft: background waits/);
  await expect(hour.locator('.reported')).toBeVisible();
  await expect(page.getByRole('meter', { name: `App ${APP}: Hour` }).locator('.reported')).toBeHidden();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing while breakers are open, at either width', async ({ page, spillway }) => {
      await spillway.inject({ user: 'kim', fault: { headers: { 'x-ms-throttle-limit-percentage': '0.85' } } });
      await spillway.call('kim', 3);
      await spillway.inject({ user: 'ana', fault: { status: 429, retry_after: '600' } });
      await spillway.inject({ user: 'sam', fault: { ...APP_THROTTLED, retry_after: '600' } });
      expect(await spillway.tryCall('ana')).toBe(429);
      expect(await spillway.tryCall('sam')).toBe(429);
      await page.goto(spillway.dashboard);
      await expect(page.locator('.connection')).toContainText('Live');
      await expect(page.locator('.workload .head .pill')).toHaveText([/^App open: /, 'Open: 1 user', 'Soft: 1 user']);
      for (const width of [1240, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      }
    });
  });
}

test.describe('with JavaScript off', () => {
  test.use({ javaScriptEnabled: false });

  test('breakers are said as they were when the page was served', async ({ page, spillway }) => {
    await spillway.inject({ fault: { ...APP_THROTTLED, retry_after: '90' } });
    expect(await spillway.tryCall('ana')).toBe(429);
    await page.goto(spillway.dashboard);
    await expect(page.locator('.workload .head .pill').first()).toHaveText(/^App open: upstream throttles, next try in (90|8\d) s$/);
  });
});

/** The next so many different numbers of seconds that the open breaker's pill shows. */
async function seconds(page: Page, number: number): Promise<number[]> {
  const shown: number[] = [];
  await expect(async () => {
    const text = await page.locator('.workload .head .pill.full').textContent();
    const left = Number(/in (\d+) s/.exec(text ?? '')?.[1]);
    if (shown.at(-1) !== left) shown.push(left);
    expect(shown.length).toBeGreaterThanOrEqual(number);
  }).toPass({ intervals: [100], timeout: 10_000 });
  return shown;
}
