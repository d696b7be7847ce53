import type { Page } from '@playwright/test';
import { PASSWORD } from './support/processes';
import { isSound } from './support/sound';
import { expect, test } from './support/test';

test.use({ closed: true, terminal: true, refused: '/set-up' });

async function make(page: Page, again: string): Promise<void> {
  await page.getByLabel('Name').fill('ada');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('The same again').fill(again);
  await page.getByRole('button', { name: 'Make the admin and sign in' }).click();
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('the link of a new server makes the first admin, once', async ({ page, spillway }) => {
      const link = await spillway.setUpLink();
      await page.goto(link);
      await expect(page).toHaveTitle('Make the first admin · Spillway');
      await make(page, 'not the same, but long');
      await expect(page.getByRole('alert')).toHaveText('These are two different passwords.');
      await expect(page.getByLabel('Name')).toHaveValue('ada');
      await make(page, PASSWORD);
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Overview');
      await expect(page.locator('.account')).toContainText(/ada\s*admin/);
      await page.goto(link);
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('No set-up here');
      await expect(page.getByText('this link is void')).toBeVisible();
    });
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, nor is anything wider than the page', async ({ page, spillway }) => {
      const link = await spillway.setUpLink();
      await page.goto(link);
      await isSound(page);
      await make(page, 'not the same, but long');
      await expect(page.getByRole('alert')).toBeVisible();
      await isSound(page);
      await make(page, PASSWORD);
      await page.goto(link);
      await expect(page.getByText('this link is void')).toBeVisible();
      await isSound(page);
    });
  });
}
