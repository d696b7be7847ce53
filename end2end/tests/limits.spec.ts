import type { Browser, Page } from '@playwright/test';
import { APP, PASSWORD, type Spillway } from './support/processes';
import { isSound } from './support/sound';
import { expect, test } from './support/test';

const EDITOR = '/limits/graph/onenote';
// What is to be previewed leads to the preview.
const EDIT = `${EDITOR}/edit#preview`;
const HOSTILE = `</p><img src=x onerror="console.error('ran')">\u202e`;

test.use({ closed: true, refused: EDIT });

async function open(page: Page, spillway: Spillway, name: string, path = EDITOR): Promise<void> {
  await page.goto(spillway.dashboard + path);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(spillway.dashboard + path);
}

async function another(browser: Browser, spillway: Spillway, name: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await open(page, spillway, name);
  return page;
}

/** A limit by its number in the form. */
const limit = (page: Page, n: number) => page.getByRole('group', { name: `Limit ${n}`, exact: true });
const most = (page: Page, n: number) => limit(page, n).getByLabel('At most');
const preview = (page: Page) => page.getByRole('button', { name: 'Preview' }).last().click();
const apply = (page: Page) => page.getByRole('button', { name: 'Apply' }).click();
const reason = (page: Page) => page.getByLabel('Reason, for the history');

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('a limit is edited, looked at, applied and rolled back', async ({ page, spillway }) => {
      spillway.user('add', 'ada', '--role', 'admin');
      await spillway.call('ana', 3);
      await open(page, spillway, 'ada', '/limits');
      await page.getByRole('link', { name: 'onenote' }).click();
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Limits of graph, onenote');
      await expect(page.getByRole('button', { name: 'Apply' })).toHaveCount(0);

      await most(page, 1).fill('0');
      await preview(page);
      await expect(page.getByRole('alert')).toContainText('Nothing is changed');
      await expect(most(page, 1)).toHaveAccessibleDescription(/limit of 0 is illegal/);
      await expect(most(page, 1)).toHaveValue('0');

      await page.getByRole('button', { name: 'Add a limit' }).click();
      const added = await page.getByRole('group', { name: /^Limit \d+$/ }).count();
      await page.getByRole('button', { name: `Remove limit ${added}` }).click();
      await expect(page.getByRole('group', { name: /^Limit \d+$/ })).toHaveCount(added - 1);

      await most(page, 1).fill('2');
      await reason(page).fill(HOSTILE);
      // Enter in a field looks, and changes nothing.
      await most(page, 1).press('Enter');
      await expect(page.getByRole('status')).toContainText(/Would have refused \d+ of 3 calls/);
      await apply(page);
      await expect(page.getByRole('status')).toHaveText('Version 2 is in force.');
      await expect(most(page, 1)).toHaveValue('2');
      await expect(page.locator('.versions li').first()).toContainText('<img src=x');
      await expect(page.locator('.versions li').first()).toContainText('\\u{202e}');
      expect(await page.locator('img').count()).toBe(0);

      await page.getByRole('link', { name: 'Roll back to version 1' }).click();
      await expect(page.getByRole('heading', { name: 'Roll back to version 1' })).toBeVisible();
      await page.locator('#back-reason').fill('too low');
      await page.getByRole('button', { name: 'Put version 1 in force again' }).click();
      await expect(page.getByRole('status')).toHaveText('Version 3 is in force.');
      await expect(most(page, 1)).toHaveValue('120');
    });
  });
}

test('of two browsers that edit one limit the second sees both changes', async ({ browser, page, spillway }) => {
  for (const name of ['ada', 'ben']) spillway.user('add', name, '--role', 'admin');
  await open(page, spillway, 'ada');
  const other = await another(browser, spillway, 'ben');
  await most(page, 1).fill('60');
  await reason(page).fill('hers');
  await preview(page);
  await apply(page);
  await expect(page.getByRole('status')).toHaveText('Version 2 is in force.');

  await most(other, 2).fill('7');
  await reason(other).fill('his');
  await preview(other);
  await apply(other);
  await expect(other.getByRole('alert')).toContainText('somebody else saved these limits');
  const conflict = other.locator('.conflict');
  await expect(conflict).toContainText('Version 2 by account ada');
  await expect(conflict.locator('.sides > div').first()).toContainText('60');
  await expect(conflict.locator('.sides > div').last()).toContainText('7');
  // One press is not enough.
  await other.getByRole('button', { name: 'Save mine over theirs' }).click();
  await expect(other.getByRole('alert')).toContainText('Set the mark');
  await isSound(other);
  await other.getByLabel('I have seen their change').check();
  await other.getByRole('button', { name: 'Save mine over theirs' }).click();
  await expect(other.getByRole('status')).toHaveText('Version 3 is in force.');
  await expect(most(other, 1)).toHaveValue('120');
  await expect(most(other, 2)).toHaveValue('7');
  await other.context().close();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, nor is anything wider than the page', async ({ page, spillway }) => {
      spillway.user('add', 'ada', '--role', 'admin');
      await spillway.call('ana', 2);
      await open(page, spillway, 'ada', '/limits');
      await isSound(page);
      await page.goto(spillway.dashboard + EDITOR);
      await page.getByRole('button', { name: 'Add an override' }).click();
      await isSound(page);
      await page.getByRole('button', { name: 'Remove override 1', exact: true }).click();
      await most(page, 1).fill('');
      await preview(page);
      await isSound(page);
      await most(page, 1).fill('60');
      await reason(page).fill('less');
      await preview(page);
      await expect(page.getByRole('heading', { name: 'Preview' })).toBeVisible();
      await isSound(page);
      await apply(page);
      await page.getByRole('link', { name: 'Roll back to version 1' }).click();
      await isSound(page);
    });
  });
}

test('somebody has limits of their own, whatever they are called, and a limit only counts', async ({ page, spillway }) => {
  spillway.user('add', 'ada', '--role', 'admin');
  await open(page, spillway, 'ada');
  await page.getByRole('button', { name: 'Add an override' }).click();
  const own = page.getByRole('group', { name: 'Override 1', exact: true });
  await own.getByRole('textbox', { name: 'App' }).fill(APP);
  await own.getByRole('textbox', { name: 'Tenant' }).fill('contoso');
  await own.getByRole('textbox', { name: 'User' }).fill(HOSTILE);
  await own.getByRole('spinbutton', { name: 'At most' }).fill('2');
  await own.getByRole('spinbutton', { name: 'Window' }).fill('1');
  await limit(page, 1).getByLabel('Refuse nothing').check();
  await most(page, 1).fill('1');
  await reason(page).fill('a trial');
  await preview(page);
  await apply(page);
  await expect(page.getByRole('status')).toHaveText('Version 2 is in force.');
  await expect(own.getByRole('textbox', { name: 'User' })).toHaveValue(HOSTILE);
  await expect(page.locator('.versions li').first()).toContainText('<img src=x');
  expect(await page.locator('img').count()).toBe(0);
  await spillway.call('ana', 3);
  await page.reload();
  await expect(limit(page, 1)).toContainText('At 1 it would have refused 2 foreground and 0 background calls');
  await expect(limit(page, 1).getByLabel('Refuse nothing')).toBeChecked();
});

test('what a role may not do is shown disabled, with the reason', async ({ page, spillway }) => {
  spillway.user('add', 'opal', '--role', 'operator');
  await open(page, spillway, 'opal');
  await expect(page.locator('.notice')).toContainText('the role operator may not do this: it takes admin');
  await expect(most(page, 1)).toBeDisabled();
  for (const button of await page.locator('#edit button').all()) await expect(button).toBeDisabled();
});
