import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { APP } from './support/processes';
import { meters } from './support/overview';
import { expect, test } from './support/test';

/** Where the page of a user of the tests' tenant is. */
const at = (user: string) => `/users/graph/onenote?user=${encodeURIComponent(user)}&app=${APP}&tenant=contoso`;

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test('a row of the overview leads to its user, and the way back to the overview', async ({ page, spillway }) => {
  const odd = 'a&b=%41 /?#+李@x';
  await spillway.call(odd, 3);
  await page.goto(spillway.dashboard);
  await page.locator('.users').getByRole('link', { name: odd }).click();
  await expect(page.locator('h1')).toHaveText(odd);
  await expect(page).toHaveTitle(/%41.* · Spillway$/);
  await expect(page.locator('.whose')).toHaveText(`tenant contoso, app ${APP}`);
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(page.locator('.lead')).toContainText('pass. Closest to a limit: 3 of 120 this minute.');
  await page.getByRole('navigation', { name: 'Way back' }).getByRole('link', { name: 'Overview' }).click();
  await expect(page.locator('h1')).toHaveText('Overview');
});

test('leases appear with their grant and leave with the end of their call', async ({ page, spillway }) => {
  await page.goto(spillway.dashboard + at('ana'));
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(page.locator('.lead')).toContainText('Nothing of ana is counted now.');
  const leases = card(page, 'Leases');
  await expect(leases).toContainText('No call of this user runs now.');
  const loaded = await page.evaluate(() => performance.timeOrigin);

  const first = await spillway.take('ana');
  await spillway.take('ana', { lane: 'background', weight: 2 });
  await expect(leases.locator('tbody tr')).toHaveCount(2);
  await expect(leases).toContainText('2 calls run');
  const rows = leases.locator('tbody tr');
  await expect(rows.nth(0).getByRole('rowheader')).toHaveText(/^\d+$/);
  await expect(rows.nth(0)).toContainText(/Foreground.*1.*\d+ s ago.*in 1[12]\d s/);
  await expect(rows.nth(1)).toContainText(/Background.*2/);
  expect((await meters(page))['User ana: In flight'].used).toBe(2);

  await spillway.complete(first);
  await expect(rows).toHaveCount(1);
  await expect(rows.nth(0)).toContainText('Background');
  await expect(page.locator('.lead')).toContainText('1 call runs, none waits.');
  expect(await page.evaluate(() => performance.timeOrigin)).toBe(loaded);
});

test('calls that wait are counted with the time since which the first waits', async ({ page, spillway }) => {
  for (let call = 0; call < 5; call++) await spillway.take('ana');
  await page.goto(spillway.dashboard + at('ana'));
  const foreground = card(page, 'Waiting calls').getByRole('row', { name: /^Foreground/ });
  await expect(foreground).toContainText('0');
  const waits = spillway.take('ana', { wait_ms: 20_000 });
  await expect(foreground).toContainText(/1\s*\d+ s\s*\d\d:\d\d:\d\d UTC/);
  await expect(page.locator('.lead')).toContainText('ana has 5 of 5 in flight; the next call fits when one ends.');
  // Second by second, from the instant that the server named.
  await expect(foreground).toContainText(/1\s*3 s/);
  await spillway.completeAll();
  await waits;
  await expect(foreground).toContainText(/Foreground\s*0/);
});

test('what stops the app is said on the page of its user and in its row', async ({ page, spillway }) => {
  await spillway.call('ana', 2);
  await spillway.inject({ fault: { status: 429, retry_after: '600', headers: { 'x-ms-throttle-scope': 'Application' } } });
  expect(await spillway.tryCall('kim')).toBe(429);
  await page.goto(spillway.dashboard);
  const row = page.locator('.users tbody tr', { hasText: 'ana' });
  await expect(row.locator('.pill')).toHaveText('App open');
  await expect(row).toContainText('upstream throttles');
  await expect(row.locator('.frees')).toContainText('in 10 min');
  await row.getByRole('link').click();
  await expect(page.locator('.lead')).toContainText(`Graph throttles the app ${APP}; all its users are hit.`);
  const breakers = card(page, 'Breakers');
  await expect(breakers.getByRole('row', { name: /^User/ })).toContainText('Closed');
  await expect(breakers.getByRole('row', { name: /^App\b(?!,)/ })).toContainText(/Open.*Upstream throttles, next try in \d+ (min|s)/);
});

test('a probe is a lease of its own kind, and its end leads the way back', async ({ page, spillway }) => {
  await spillway.inject({ user: 'ana', fault: { status: 429, retry_after: '2' } });
  expect(await spillway.tryCall('ana')).toBe(429);
  await page.goto(spillway.dashboard + at('ana'));
  const user = card(page, 'Breakers').getByRole('row', { name: /^User/ });
  await expect(user).toContainText('Half-open', { timeout: 15_000 });
  const probe = await spillway.take('ana');
  const leases = card(page, 'Leases');
  await expect(leases.locator('.pill')).toHaveText('Probe');
  await expect(user).toContainText('Probing');
  await spillway.complete(probe);
  await expect(user).toContainText(/Recovering.*1 call at a time|Recovering.*calls at once/);
  await expect(leases).toContainText('No call of this user runs now.');
});

test.describe('where the server goes', () => {
  test.use({ serverGoes: true });

  test('who is no longer heard is not taken for current, and comes back by itself', async ({ page, spillway }) => {
    await spillway.take('ana');
    await page.goto(spillway.dashboard + at('ana'));
    await expect(page.locator('.connection')).toContainText('Live');
    await page.context().setOffline(true);
    await expect(page.locator('.connection')).toContainText('Disconnected');
    await expect(page.locator('.values')).toHaveClass(/old/);
    await expect(page.locator('.notice.full')).toContainText('What you see was true at');
    await page.context().setOffline(false);
    await expect(page.locator('.connection')).toContainText('Live');
    await expect(page.locator('.values')).not.toHaveClass(/old/);
  });
});

test('nobody asks for a page that nobody sees', async ({ page, spillway }) => {
  await page.goto(spillway.dashboard + at('ana'));
  await expect(page.locator('.connection')).toContainText('Live');
  let asked = 0;
  page.on('request', (request) => (asked += Number(request.url().includes('/api/v1/users/'))));
  const hide = (hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    }, hidden);
  await hide(true);
  await expect(page.locator('.connection')).toContainText('Late');
  expect(asked).toBeLessThanOrEqual(1);
  await hide(false);
  await expect(page.locator('.connection')).toContainText('Live');
});

test('an address that means nobody has no page', async ({ page, spillway }) => {
  for (const path of ['/users/graph/outlook?user=ana', '/users/notion/onenote?user=ana', '/users/graph/onenote', '/users/graph']) {
    const answer = await fetch(spillway.dashboard + path);
    expect(answer.status, path).toBe(404);
    expect(await answer.text(), path).toContain('There is no such page');
  }
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing on the page of a user, at either width', async ({ page, spillway }) => {
      await spillway.inject({ user: 'ana', fault: { headers: { 'x-ms-throttle-limit-percentage': '0.85' } } });
      await spillway.call('ana', 1);
      await spillway.take('ana');
      await page.goto(spillway.dashboard + at('ana'));
      await expect(page.locator('.connection')).toContainText('Live');
      await expect(card(page, 'Breakers')).toContainText('85 % used');
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

  test('the page of a user shows its values and asks again by itself', async ({ page, spillway }) => {
    await spillway.call('ana', 7);
    const permit = await spillway.take('ana');
    await page.goto(spillway.dashboard + at('ana'));
    expect((await meters(page))['User ana: Minute'].used).toBe(8);
    const rows = card(page, 'Leases').locator('tbody tr');
    await expect(rows).toHaveCount(1);
    await expect(page.locator('.connection')).toContainText('Snapshot');
    await spillway.complete(permit);
    await expect(rows).toHaveCount(0, { timeout: 15_000 });
  });
});
