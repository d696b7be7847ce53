import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { PASSWORD, type Spillway } from './support/processes';
import { expect, test } from './support/test';

const HOSTILE = '</script><img src=x onerror=alert(1)>\u202e\'"&%2e/..?#';

async function api(spillway: Spillway, method: string, path: string, body?: object, base = ''): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(base === '' ? {} : { 'if-match': base }) };
  const answer = await fetch(`${spillway.dashboard}/api/v1/${path}`, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer;
}

/** All lists' actions get this policy. */
async function policy(spillway: Spillway, per_minute: number, strikes_per_day: number, grace: number): Promise<void> {
  const path = 'flood-policies/action';
  const base = (await api(spillway, 'GET', path)).headers.get('etag') ?? '';
  await api(spillway, 'PUT', path, { policy: { per_minute, strikes_per_day, grace }, reason: 'a test' }, base);
}

/** Reports so many events of a list; answers what became of the last. */
async function events(spillway: Spillway, site: string, list: string, count: number, more: object = {}): Promise<string> {
  const event = { site, list, component: 'action', trigger: 'event', ...more };
  const answer = await api(spillway, 'POST', 'events', Array.from({ length: count }, () => event));
  const told = (await answer.json()) as { decision: string }[];
  return told[count - 1].decision;
}

/** A minute that is over, so many minutes ago. */
function minutesAgo(minutes: number): { at: string } {
  const minute = Math.floor(Date.now() / 60_000) - minutes;
  return { at: new Date(minute * 60_000 + 30_000).toISOString() };
}

async function fits(page: Page): Promise<void> {
  for (const width of [1240, 360]) {
    await page.setViewportSize({ width, height: 900 });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, `at ${width}`).toBeLessThanOrEqual(0);
  }
}

test('the gauge moves live, and so do the state and the strikes', async ({ page, spillway }) => {
  await policy(spillway, 1_000, 20, 0);
  await events(spillway, 's1', 'orders', 1);
  await page.goto(`${spillway.dashboard}/floods`);
  const gauge = page.getByRole('meter', { name: 'Action of orders of site s1, this minute' });
  await expect(gauge).toBeVisible();
  await expect(page.locator('[data-connection] b')).toHaveText('Live');
  // The whole test may lie across a minute's end: what counts is that it follows.
  await expect(async () => {
    await events(spillway, 's1', 'orders', 300);
    await expect(gauge).toHaveAttribute('aria-valuetext', /^(3|6|9)0\d of 1,000 events this minute$/, { timeout: 3_000 });
  }).toPass({ timeout: 20_000 });
  await events(spillway, 's1', 'orders', 1_000, { at: new Date().toISOString() });
  await expect(page.getByRole('row', { name: /orders/ })).toContainText(/Stopped/);
  await expect(page.getByRole('row', { name: /orders/ })).toContainText(/1 of 20/);

  // Paused updates stay as they are, and say so.
  await page.getByRole('button', { name: 'Pause updates' }).click();
  await expect(page.locator('[data-connection] b')).toHaveText('Paused');
  const before = await gauge.getAttribute('aria-valuetext');
  await events(spillway, 's2', 'new', 1);
  await page.waitForResponse(/part=live/, { timeout: 2_500 }).then(
    () => { throw new Error('a paused page asks'); },
    () => undefined,
  );
  expect(await gauge.getAttribute('aria-valuetext')).toBe(before);
  await page.getByRole('button', { name: 'Resume updates' }).click();
  await expect(page.getByRole('row', { name: /new/ })).toBeVisible();
});

test('rows do not move under the pointer', async ({ page, spillway }) => {
  await policy(spillway, 100, 20, 0);
  await events(spillway, 's1', 'first', 5);
  await page.goto(`${spillway.dashboard}/floods`);
  const names = () => page.locator('.floods tbody .who a').allTextContents();
  await page.getByRole('link', { name: 'first' }).hover();
  await events(spillway, 's1', 'second', 60);
  await page.waitForResponse(/part=live/);
  await page.waitForResponse(/part=live/);
  expect(await names()).toEqual(['first']);
  await page.mouse.move(2, 2);
  await expect.poll(names).toHaveLength(2);
});

test('the chart of strikes equals its table', async ({ page, spillway }) => {
  await policy(spillway, 2, 20, 3);
  for (let minute = 3; minute < 10; minute++) await events(spillway, 's1', 'orders', 3, minutesAgo(minute));
  await page.goto(`${spillway.dashboard}/floods/s1/orders`);
  const figure = page.locator('figure', { hasText: 'Strikes of the last 30 days' });
  await figure.getByText('As a table').click();
  const rows = await figure.locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) => [row.querySelector('time')?.dateTime, Number(row.querySelector('td')?.textContent)] as const),
  );
  expect(rows).toHaveLength(30);
  expect(rows.reduce((sum, [, strikes]) => sum + strikes, 0)).toBe(7);
  // The drawing: each bar as high as its number, by the axis' own scale.
  const bars = await figure.locator('svg rect[fill="var(--fore)"]').evaluateAll((bars) =>
    bars.map((bar) => Number(bar.getAttribute('height'))).filter((height) => height > 0),
  );
  const struck = rows.filter(([, strikes]) => strikes > 0).map(([, strikes]) => strikes).reverse();
  expect(bars).toHaveLength(struck.length);
  const each = bars[0] / struck[0];
  bars.forEach((height, at) => expect(Math.abs(height - each * struck[at])).toBeLessThan(3));
  // And what is said to those who do not see it.
  const said = await figure.locator('svg desc').textContent();
  for (const [day, strikes] of rows.filter(([, strikes]) => strikes > 0)) {
    expect(said).toContain(`${day}: Action ${strikes}`);
  }
});

test('hostile names stay words, and lead to their page', async ({ page, spillway }) => {
  await policy(spillway, 2, 1, 0);
  await api(spillway, 'PUT', `sites/${encodeURIComponent(HOSTILE)}`, { title: HOSTILE, region: '<b>eu</b>' });
  for (const list of [HOSTILE, '..', '.']) await events(spillway, HOSTILE, list, 3, minutesAgo(2));
  await page.goto(`${spillway.dashboard}/floods`);
  for (const at of [0, 1, 2]) {
    await page.locator('.floods tbody .who a').nth(at).click();
    await expect(page.getByRole('heading', { name: 'Now' })).toBeVisible();
    await expect(page.locator('.state .pill').first()).toHaveText('Disabled');
    await page.getByRole('link', { name: 'Pause this list' }).click();
    await expect(page.getByRole('heading', { name: 'Pause a list' })).toBeVisible();
    await page.goto(`${spillway.dashboard}/floods`);
  }
  expect(await page.locator('img').count()).toBe(0);
});

test('the overview says what is disabled, and leads there', async ({ page, spillway }) => {
  await policy(spillway, 2, 1, 0);
  await page.goto(spillway.dashboard);
  await events(spillway, 's1', 'orders', 3, minutesAgo(2));
  const lead = page.getByRole('region', { name: 'In short' });
  await expect(lead).toContainText('A component is disabled by floods.', { timeout: 15_000 });
  await expect(page.getByRole('region', { name: 'Spillway itself' })).toContainText('Flood guard');
  await expect(page.getByRole('region', { name: 'Spillway itself' })).toContainText('1 list, 1 disabled, 0 paused');
  await lead.getByRole('link', { name: 'Look at it' }).click();
  await expect(page.getByRole('heading', { name: '1 component disabled' })).toBeVisible();
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('an admin tries a policy on what was recorded, and puts it in force', async ({ page, spillway }) => {
    await events(spillway, 's1', 'orders', 60, minutesAgo(2));
    await page.goto(`${spillway.dashboard}/floods`);
    await page.getByRole('link', { name: 'Policies' }).click();
    await page.getByRole('link', { name: 'Action' }).click();
    await page.getByRole('button', { name: '30/10/0' }).click();
    await page.getByRole('button', { name: 'Preview' }).last().click();
    const preview = page.getByRole('region', { name: 'Preview' });
    await expect(preview.getByRole('status')).toContainText('it would have struck 1 (now 0)');
    await expect(preview.getByRole('row', { name: /orders/ })).toContainText('60');
    await page.getByLabel('Reason, for the history and the audit log').fill('as it was at first');
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect(page.getByText('Version 2 is in force.')).toBeVisible();
    await expect(page.getByRole('region', { name: 'History' })).toContainText('as it was at first');
    expect(await events(spillway, 's2', 'new', 31)).toBe('stop');
  });

  test('an operator pauses and resumes, and looks for a list', async ({ page, spillway }) => {
    await events(spillway, 's1', 'orders', 3);
    await events(spillway, 's2', 'leads', 3);
    await page.goto(`${spillway.dashboard}/floods`);
    await expect(page.locator('p.again')).toBeVisible();
    await page.getByLabel('List or site').fill('order');
    await page.getByRole('button', { name: 'Show' }).click();
    await expect(page.getByRole('row', { name: /orders/ })).toBeVisible();
    await expect(page.getByRole('row', { name: /leads/ })).toHaveCount(0);
    await page.getByRole('link', { name: 'orders' }).click();
    await page.getByRole('link', { name: 'Pause this list' }).click();
    await expect(page.getByText(/neither handled nor counted/)).toBeVisible();
    await page.getByLabel('Reason, for the log').fill('bulk import');
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect(page.getByText(/^Paused until/)).toBeVisible();
    expect(await events(spillway, 's1', 'orders', 1)).toBe('paused');
    await page.getByRole('button', { name: 'Take it back' }).click();
    await expect(page.getByText(/^Resumed/)).toBeVisible();
    expect(await events(spillway, 's1', 'orders', 1)).toBe('handle');
  });
});

test.describe('with roles', () => {
  test.use({ closed: true });

  test('an operator re-enables, the next flood disables at once; a viewer cannot', async ({ browser, spillway }) => {
    for (const role of ['viewer', 'operator', 'admin']) spillway.user('add', role, '--role', role);
    const signedIn = async (role: string): Promise<Page> => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${spillway.dashboard}/floods/disabled`);
      await page.getByLabel('Name').fill(role);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await expect(page.getByRole('heading', { name: 'Disabled by floods' })).toBeVisible();
      return page;
    };
    const admin = await signedIn('admin');
    // Pages that ask for nothing may not ask.
    await admin.goto(spillway.dashboard);
    const send = (method: string, path: string, body?: object, base = '') =>
      admin.evaluate(async ([method, path, body, base]) => {
        const headers: Record<string, string> = { 'content-type': 'application/json' };
        if (base !== '') headers['if-match'] = base;
        const answer = await fetch(`/api/v1/${path}`, { method, headers, body: body === '' ? undefined : body });
        return { etag: answer.headers.get('etag') ?? '', body: await answer.json() };
      }, [method, path, body === undefined ? '' : JSON.stringify(body), base] as const);
    const token = spillway.command('token', 'create', '--name', 'platform', '--role', 'member', '--scope', 'events');
    const flood = async (): Promise<string> => {
      const event = { site: 's1', list: 'orders', component: 'action', trigger: 'event' };
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const body = JSON.stringify(Array.from({ length: 5 }, () => event));
      const answer = await fetch(`${spillway.dashboard}/api/v1/events`, { method: 'POST', headers, body });
      return (await answer.json())[4].decision;
    };
    const { etag } = await send('GET', 'flood-policies/action');
    const strict = { policy: { per_minute: 2, strikes_per_day: 1, grace: 0 }, reason: 'a test' };
    await send('PUT', 'flood-policies/action', strict, etag);
    expect(await flood()).toBe('disabled');

    const viewer = await signedIn('viewer');
    await expect(viewer.getByRole('checkbox')).toBeDisabled();
    await expect(viewer.getByRole('button', { name: 'Re-enable those chosen: next' })).toBeDisabled();
    await expect(viewer.getByText('Takes the role operator.')).toBeVisible();
    await viewer.goto(spillway.dashboard);
    const forged = await viewer.evaluate(async () => {
      const body = new URLSearchParams({ it: 'action/s1/orders', sure: 'yes', reason: 'x' });
      return (await fetch('/floods/enable', { method: 'POST', body })).status;
    });
    expect(forged).toBe(403);

    const operator = await signedIn('operator');
    await operator.getByRole('checkbox', { name: 'Choose Action of orders of site s1' }).check();
    const first = operator.getByRole('button', { name: 'Re-enable those chosen: next' });
    const under = await first.boundingBox();
    await first.click();
    await expect(operator.getByText(/the day's strikes do not/)).toBeVisible();
    const second = operator.getByRole('button', { name: 'Re-enable 1 component' });
    const there = await second.boundingBox();
    // The second click needs another place.
    const apart = under && there && (under.x + under.width / 2 > there.x + there.width || under.y + under.height / 2 < there.y
      || under.x + under.width / 2 < there.x || under.y + under.height / 2 > there.y + there.height);
    expect(apart).toBe(true);
    await operator.getByLabel('Reason, for the log').fill('rule mended');
    await second.click();
    await expect(operator.getByText('It is re-enabled: its events are handled again.')).toBeVisible();
    await expect(operator.getByText('Nothing is disabled.')).toBeVisible();

    expect(await flood(), 'the next flood of the day disables at once').toBe('disabled');
    await operator.goto(`${spillway.dashboard}/floods/s1/orders`);
    const deeds = operator.getByRole('region', { name: 'What was done, and by whom' });
    await expect(deeds.getByRole('listitem')).toHaveText([/disabled by the day's strike/, /re-enabled.*operator.*rule mended/s, /disabled by the day's strike/]);
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing on any page, nor is anything wider than it', async ({ page, spillway }) => {
      await page.goto(`${spillway.dashboard}/floods`);
      await expect(page.getByText('No event was reported yet.')).toBeVisible();
      await fits(page);
      await policy(spillway, 2, 2, 1);
      for (const [site, region] of [['s1', 'eu'], ['s2', 'us']]) {
        await api(spillway, 'PUT', `sites/${site}`, { title: `Shop ${site}`, region, admins: [], time_zone: 'UTC' });
        for (const minute of [4, 3, 2]) await events(spillway, site, 'orders', 4, minutesAgo(minute));
        await events(spillway, site, 'quiet', 1);
      }
      const until = new Date(Date.now() + 3_600_000).toISOString();
      await api(spillway, 'POST', 'sites/s2/lists/quiet/pause', { until, reason: 'bulk import' });
      for (const path of ['/floods', '/floods/s1/orders', '/floods/s2/quiet', '/floods/disabled', '/floods/pause?site=s2&list=quiet', '/floods/pause?site=s1', '/flood-policies', '/flood-policies/action']) {
        await page.goto(spillway.dashboard + path);
        await fits(page);
      }
    });
  });
}
