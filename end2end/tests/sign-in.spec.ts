import type { Page } from '@playwright/test';
import { APP, PASSWORD } from './support/processes';
import { isSound } from './support/sound';
import { expect, test } from './support/test';

const ANA = `/users/graph/onenote?user=ana&app=${APP}&tenant=contoso`;
const HOSTILE = `</script><img src=x onerror="console.error('ran')">\u202e'&`;

test.use({ closed: true });

async function signIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const menu = (page: Page) => page.locator('.account');

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('who signs in comes to the page that they asked for, and out again', async ({ page, spillway }) => {
      spillway.user('add', 'ada', '--role', 'viewer');
      await page.goto(spillway.dashboard + ANA);
      await expect(page).toHaveTitle('Sign in · Spillway');
      await signIn(page, 'ada');
      await expect(page).toHaveURL(spillway.dashboard + ANA);
      await expect(menu(page)).toContainText(/ada\s*viewer/);
      const word = javaScriptEnabled ? 'Live' : 'Snapshot';
      await expect(page.locator('.connection')).toContainText(word);

      const ways = page.getByRole('navigation', { name: 'Pages' });
      await ways.getByRole('link', { name: 'Settings' }).click();
      await expect(ways.locator('[aria-current=page]')).toHaveText('Settings');
      await page.getByLabel('The password until now').fill(PASSWORD);
      await page.getByLabel('A new one').fill('another good secret');
      await page.getByLabel('The same again').fill('another good secret');
      await page.getByRole('button', { name: 'Change it' }).click();
      await expect(page.getByRole('status')).toHaveText('Your password is changed.');
      await menu(page).getByText('ada').click();
      await menu(page).getByRole('button', { name: 'Sign out' }).click();
      await expect(page.getByRole('status')).toHaveText('You are signed out.');
      await page.goto(spillway.dashboard);
      await expect(page).toHaveURL(`${spillway.dashboard}/sign-in`);
    });

    test.describe('by a wrong password', () => {
      test.use({ refused: '/sign-in' });

      test('nobody gets in, and the name stays', async ({ page, spillway }) => {
        spillway.user('add', 'ada', '--role', 'viewer');
        await page.goto(spillway.dashboard);
        await signIn(page, 'ada', 'not hers, but long');
        await expect(page.getByRole('alert')).toHaveText('Name or password is wrong.');
        await expect(page.getByLabel('Name')).toHaveValue('ada');
        await expect(page.getByLabel('Password')).toHaveValue('');
        await signIn(page, 'ada');
        await expect(page.getByRole('heading', { level: 1 })).toHaveText('Overview');
      });
    });
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, refused: '/sign-in' });

    test('axe finds nothing, nor is anything wider than the page', async ({ page, spillway }) => {
      spillway.user('add', 'ada', '--role', 'admin');
      await page.goto(spillway.dashboard);
      await isSound(page);
      await signIn(page, 'ada', 'not hers, but long');
      await expect(page.getByRole('alert')).toBeVisible();
      await isSound(page);
      await signIn(page, 'ada');
      await expect(page.locator('.connection')).toContainText('Live');
      await menu(page).getByText('ada').click();
      await isSound(page);
      await page.goto(`${spillway.dashboard}/settings`);
      await expect(page.getByText('This browser')).toBeVisible();
      await isSound(page);
    });
  });
}

test.describe('while a page is open', () => {
  test.use({ sessionEnds: true });

  for (const path of ['/', ANA]) {
    test(`a session that ends is said within 15 s, and the way back leads back: ${path}`, async ({ page, spillway }) => {
      spillway.user('add', 'ada', '--role', 'viewer');
      await page.goto(spillway.dashboard + path);
      await signIn(page, 'ada');
      await expect(page.locator('.connection')).toContainText('Live');
      spillway.user('passwd', 'ada');
      await expect(page.locator('.connection')).toContainText('Signed out', { timeout: 15_000 });
      await expect(page.locator('.notice')).toContainText('You are signed out.');
      await page.getByRole('link', { name: 'Sign in again' }).click();
      await signIn(page, 'ada');
      await expect(page).toHaveURL(spillway.dashboard + path);
      await expect(page.locator('.connection')).toContainText('Live');
    });
  }

  test('all tabs say so, and recover when somebody signs in in one of them', async ({ context, spillway }) => {
    spillway.user('add', 'ada', '--role', 'viewer');
    const [first, second] = [await context.newPage(), await context.newPage()];
    await first.goto(spillway.dashboard);
    await signIn(first, 'ada');
    await second.goto(spillway.dashboard);
    for (const page of [first, second]) await expect(page.locator('.connection')).toContainText('Live');
    spillway.user('passwd', 'ada');
    for (const page of [first, second]) {
      await expect(page.locator('.connection')).toContainText('Signed out', { timeout: 15_000 });
    }
    await second.getByRole('link', { name: 'Sign in again' }).click();
    await signIn(second, 'ada');
    for (const page of [first, second]) {
      await expect(page.locator('.connection')).toContainText('Live', { timeout: 20_000 });
    }
  });
});

test('what a role may not do is shown disabled, with the reason', async ({ browser, page, spillway }) => {
  spillway.user('add', 'opal', '--role', 'operator');
  spillway.user('add', 'vic', '--role', 'viewer');
  await page.goto(spillway.dashboard);
  await signIn(page, 'opal');
  await expect(page.locator('.connection')).toContainText('Live');
  const paused = await page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ reason: 'a test' });
    return (await fetch('/api/v1/lanes/graph/background/pause', { method: 'POST', headers, body })).status;
  });
  expect(paused).toBe(200);
  await expect(page.locator('summary', { hasText: 'End early' })).toBeEnabled();

  const other = await browser.newPage();
  await other.goto(spillway.dashboard);
  await signIn(other, 'vic');
  await expect(other.getByRole('button', { name: 'End early' })).toBeDisabled();
  await expect(other.locator('.pauses')).toContainText('Takes the role operator');
  await other.close();
});

test('a name that would run something is text', async ({ page, spillway }) => {
  spillway.user('add', HOSTILE, '--role', 'viewer');
  await page.goto(spillway.dashboard);
  await signIn(page, HOSTILE);
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(menu(page)).toContainText('<img src=x');
  await expect(menu(page)).toContainText('\\u{202e}');
  expect(await page.locator('img').count()).toBe(0);
});
