import AxeBuilder from '@axe-core/playwright';
import { expect, test } from './support/test';
import type { Spillway } from './support/processes';

const PAGE = '/workloads/graph/onenote';

/** Some users in trouble, some not, one with a name that is markup. */
const HOSTILE = '"><script>alert(1)</script>@evil.example';

async function busy(spillway: Spillway): Promise<void> {
  await spillway.call('ana@contoso.example', 110);
  await spillway.call('kim@contoso.example', 3, { 'Spillway-Lane': 'background' });
  await spillway.take(HOSTILE);
}

/** A server that has a past: what was seen is written when it ends. */
async function withPast(spillway: Spillway): Promise<void> {
  await busy(spillway);
  await spillway.restart();
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing on the page of a workload, at either width', async ({ page, spillway }) => {
      await withPast(spillway);
      await page.goto(spillway.dashboard + PAGE);
      await expect(page.locator('figure .chart').first()).toBeVisible();
      for (const width of [1240, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      }
      await page.locator('figure summary').first().click();
      const table = new AxeBuilder({ page }).include('figure:first-of-type');
      expect((await table.analyze()).violations).toEqual([]);
    });
  });
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('users are found, filtered, and the address keeps it', async ({ page, spillway }) => {
      await busy(spillway);
      await page.goto(spillway.dashboard);
      await page.getByRole('link', { name: 'All users and charts' }).click();
      await expect(page).toHaveURL(spillway.dashboard + PAGE);
      await expect(page).toHaveTitle('graph / onenote · Spillway');
      const rows = page.locator('.users tbody tr');
      // Most trouble first.
      await expect(rows).toHaveCount(3);
      await expect(rows.first()).toContainText('ana@contoso.example');

      await page.getByRole('searchbox').fill('KIM');
      await page.getByRole('button', { name: 'Find' }).click();
      await expect(rows).toHaveCount(1);
      await expect(rows).toContainText('kim@contoso.example');
      await expect(page).toHaveURL(/find=KIM/);
      await expect(page.getByText('1 of 3 users')).toBeVisible();

      await page.getByRole('link', { name: 'Near a limit or worse' }).click();
      await expect(page.getByText('Nobody is like that now.')).toBeVisible();
      await page.getByRole('link', { name: 'Show all' }).click();
      await expect(rows).toHaveCount(1);
      await expect(rows).toContainText('ana@contoso.example');
      await rows.getByRole('link').click();
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('ana@contoso.example');
    });

    test('names that are markup are text', async ({ page, spillway }) => {
      await busy(spillway);
      await page.goto(`${spillway.dashboard}${PAGE}?find=${encodeURIComponent(HOSTILE)}`);
      await expect(page.locator('.users tbody tr')).toContainText(HOSTILE);
      await expect(page.getByRole('searchbox')).toHaveValue(HOSTILE);
      expect(await page.locator('main script').count()).toBe(0);
    });
  });
}

test('what was is charted, with the same as a table, over each time', async ({ page, spillway }) => {
  await withPast(spillway);
  await page.goto(spillway.dashboard + PAGE);
  const calls = page.getByRole('figure').filter({ hasText: 'Calls a minute' });
  for (const time of ['1 hour', '24 hours', '30 days']) {
    await page.getByRole('link', { name: time, exact: true }).click();
    await expect(page.locator('.past .choices [aria-current]')).toHaveText(time);
    await expect(calls.getByRole('img', { name: 'Calls a minute' })).toBeVisible();
    await calls.getByText('As a table').click();
    await expect(calls.locator('tbody tr').first()).toBeVisible();
  }
  await expect(page.getByRole('img', { name: /^Breakers/ })).toBeVisible();
});

test('pages of users follow each other', async ({ page, spillway }) => {
  for (let user = 0; user < 60; user++) await spillway.complete(await spillway.take(`user${user}`));
  await page.goto(spillway.dashboard + PAGE);
  const rows = page.locator('.users tbody tr');
  await expect(rows).toHaveCount(50);
  const first = await rows.getByRole('link').allTextContents();
  await page.getByRole('link', { name: 'Next page' }).click();
  await expect(rows).toHaveCount(10);
  const both = new Set([...first, ...(await rows.getByRole('link').allTextContents())]);
  expect(both.size).toBe(60);
  await page.getByRole('link', { name: 'First page' }).click();
  await expect(rows).toHaveCount(50);
});

test('an empty workload says what to do, and what cannot be asked for is said', async ({ page, spillway }) => {
  await page.goto(`${spillway.dashboard}${PAGE}?range=9y&after=x`);
  await expect(page.getByText('No user has called yet.')).toBeVisible();
  await expect(page.getByText('Nothing was recorded in this time.')).toBeVisible();
  await expect(page.getByRole('status')).toContainText('There is no such');
});
