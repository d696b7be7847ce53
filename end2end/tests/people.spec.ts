import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { APP, PASSWORD, type Spillway } from './support/processes';
import { expect, test } from './support/test';

const HOSTILE = `</script><img src=x onerror="console.error('ran')">\u202e'&`;
const LONG = 'somebody.with.a.rather.long.name@a-long-tenant.example';

test.use({ closed: true });

async function signIn(page: Page, spillway: Spillway, name: string, role: string): Promise<void> {
  spillway.user('add', name, '--role', role);
  await page.goto(`${spillway.dashboard}/sign-in`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(`${spillway.dashboard}/`);
}

async function isSound(page: Page): Promise<void> {
  for (const width of [1240, 360]) {
    await page.setViewportSize({ width, height: 900 });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, `${page.url()} at ${width} px`).toBeLessThanOrEqual(0);
  }
  expect(await page.locator('img').count()).toBe(0);
}

const pause = async (page: Page, reason: string) => {
  const form = page.getByRole('region', { name: 'Pause them' });
  await form.locator('select[name="minutes"]').selectOption('15 minutes');
  await form.getByLabel('Reason, for the log').fill(reason);
  await form.getByRole('button', { name: 'Pause' }).click();
};

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('an operator pauses background calls, takes it back, and forces a breaker', async ({ page, spillway }) => {
      await signIn(page, spillway, 'opal', 'operator');
      await page.getByRole('link', { name: 'Pause and force' }).click();
      await expect(page.getByText('Nothing is paused, and no breaker is forced.')).toBeVisible();
      const background = page.locator('form', { has: page.getByRole('heading', { name: 'Background calls' }) });
      await background.getByLabel('User', { exact: true }).fill('ana');
      await background.getByRole('button').click();
      await expect(page.getByText('Running calls end as usual')).toBeVisible();
      await pause(page, 'runaway export');
      await expect(page.getByRole('status')).toContainText('Background calls are paused until');
      await expect(page.getByRole('region', { name: 'Paused' })).toContainText(/by account opal \(.*runaway export/);
      await page.getByRole('button', { name: 'Undo' }).click();
      await expect(page.getByRole('status')).toContainText('Background calls go on');

      await page.getByRole('link', { name: 'Pause and force' }).first().click();
      const breaker = page.locator('form', { has: page.getByRole('heading', { name: 'A breaker' }) });
      await breaker.getByLabel('App', { exact: true }).fill(APP);
      await breaker.getByRole('button').click();
      await page.getByRole('heading', { name: 'Stop all calls' }).click();
      const stop = page.locator('form', { hasText: 'Nothing is sent to the upstream meanwhile' });
      await stop.getByLabel('Reason, for the log').fill('the vendor asked us');
      await stop.getByRole('button', { name: 'Stop them' }).click();
      await expect(page.getByRole('region', { name: 'Now' })).toContainText(/forced open.*by account opal/);
      // The overview says so, too, and leads back to where it is undone.
      await page.goto(spillway.dashboard);
      const forced = page.getByRole('region', { name: 'Forced breakers' });
      await expect(forced).toContainText(/forced open until .*by account opal.*the vendor asked us/);
      await forced.getByRole('link', { name: /^Undo/ }).click();
      await page.getByRole('heading', { name: 'Reset' }).click();
      const reset = page.locator('form', { has: page.getByRole('button', { name: 'Reset it' }) });
      await reset.getByLabel('Reason, for the log').fill('they told us when');
      await reset.getByRole('button').click();
      await expect(page.getByRole('region', { name: 'Now' })).toContainText('It is closed');
    });

    test('an admin makes a token, sees it once, and revokes it', async ({ page, spillway }) => {
      await signIn(page, spillway, 'ada', 'admin');
      await page.getByRole('link', { name: 'Tokens' }).click();
      await page.getByLabel('Name: whose it is').fill('bridge');
      await page.getByRole('button', { name: 'Make the token' }).click();
      await expect(page.getByRole('textbox', { name: 'The new token' })).toHaveValue(/^spw_/);
      await page.reload();
      await expect(page.getByRole('textbox', { name: 'The new token' })).toHaveCount(0);
      await page.getByText('Revoke', { exact: true }).last().click();
      await page.getByRole('button', { name: 'Revoke for good: bridge' }).click();
      await expect(page.getByRole('status')).toContainText('lets nobody in any more');
    });

    test('an admin makes an account, and its owner chooses a password', async ({ browser, page, spillway }) => {
      await signIn(page, spillway, 'ada', 'admin');
      await page.getByRole('link', { name: 'Accounts' }).click();
      await page.getByLabel('Name that they sign in with').fill('bob');
      await page.getByRole('button', { name: 'Make the account' }).click();
      const link = await page.getByRole('textbox', { name: 'The link to choose a password' }).inputValue();

      const other = await browser.newPage({ javaScriptEnabled });
      await other.goto(link);
      await other.getByLabel('Password', { exact: true }).fill('another good secret');
      await other.getByLabel('The same again').fill('another good secret');
      await other.getByRole('button', { name: 'Keep it and sign in' }).click();
      await expect(other.locator('.account')).toContainText(/bob\s*viewer/);

      await page.getByRole('link', { name: 'bob' }).click();
      await page.getByText('Disable…').click();
      await page.getByRole('button', { name: 'Disable it' }).click();
      await expect(page.getByRole('status')).toContainText('bob lets nobody in any more.');
      await other.goto(`${spillway.dashboard}/settings`);
      await expect(other).toHaveTitle('Sign in · Spillway');
      await other.close();
    });

    test('a viewer finds in the log who did what, and has it verified', async ({ page, spillway }) => {
      await signIn(page, spillway, 'vic', 'viewer');
      await page.getByRole('link', { name: 'Audit log' }).click();
      await page.getByLabel('Did what').selectOption('account.create');
      await page.getByRole('button', { name: 'Show' }).click();
      await expect(page).toHaveURL(/action=account\.create/);
      const entries = page.locator('.entries > li');
      await expect(entries).toHaveCount(1);
      await entries.getByText('2 changes').click();
      await expect(entries.getByRole('row', { name: /role.*viewer/ })).toBeVisible();
      await page.getByRole('button', { name: 'Verify now' }).click();
      await expect(page.getByRole('status')).toContainText('entries are as they were written');
    });
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    // The local time beside UTC takes room, too.
    test.use({ colorScheme, timezoneId: 'Asia/Kathmandu' });

    test('axe finds nothing on any of the pages, nor is anything wider than it', async ({ page, spillway }) => {
      spillway.user('add', HOSTILE, '--role', 'member');
      spillway.user('add', LONG, '--role', 'operator');
      await signIn(page, spillway, 'ada', 'admin');
      await page.goto(`${spillway.dashboard}/operate/background?upstream=graph&user=${encodeURIComponent(HOSTILE)}`);
      await pause(page, HOSTILE);
      await isSound(page);
      await page.goto(`${spillway.dashboard}/operate/breaker?upstream=graph&workload=onenote&user=${LONG}`);
      for (const summary of await page.locator('details.act > summary').all()) await summary.click();
      await isSound(page);
      await page.goto(`${spillway.dashboard}/operate`);
      await isSound(page);

      await page.goto(`${spillway.dashboard}/tokens`);
      await page.getByLabel('Name: whose it is').fill(HOSTILE);
      await page.getByRole('button', { name: 'Make the token' }).click();
      await page.locator('td summary').click();
      await isSound(page);
      await page.goto(`${spillway.dashboard}/accounts`);
      await isSound(page);
      await page.getByRole('link', { name: LONG }).click();
      for (const summary of await page.locator('details.ask > summary').all()) await summary.click();
      await isSound(page);
      await page.getByRole('button', { name: 'Make a link' }).click();
      const link = await page.getByRole('textbox', { name: 'The link to choose a password' }).inputValue();
      await page.goto(`${spillway.dashboard}/audit`);
      for (const summary of await page.locator('.entries summary').all()) await summary.click();
      await isSound(page);
      await page.goto(link);
      await isSound(page);
    });
  });
}

test('what a viewer may not do is there, disabled, with the reason', async ({ page, spillway }) => {
  await signIn(page, spillway, 'vic', 'viewer');
  for (const [path, button, reason] of [
    ['/operate/background?upstream=graph', 'Pause', 'Takes the role operator.'],
    ['/tokens', 'Make the token', 'Takes the role admin.'],
    ['/accounts', 'Make the account', 'Takes the role admin.'],
  ]) {
    await page.goto(spillway.dashboard + path);
    await expect(page.getByRole('button', { name: button, exact: true })).toBeDisabled();
    await expect(page.getByText(reason)).toBeVisible();
  }
});
