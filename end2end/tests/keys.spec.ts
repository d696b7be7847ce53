import AxeBuilder from '@axe-core/playwright';
import { expect, test } from './support/test';

test('keys are shown under ?, steer the page, and can be switched off for good', async ({ page, spillway }) => {
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await expect(keys).toBeHidden();
  await page.keyboard.press('?');
  await expect(keys).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();

  await page.keyboard.press('p');
  await expect(page.getByRole('button', { name: 'Resume updates' })).toBeVisible();
  await page.keyboard.press('p');
  await expect(page.getByRole('button', { name: 'Pause updates' })).toBeVisible();

  await page.getByRole('button', { name: 'Keys' }).click();
  await keys.getByLabel('Keys work in this browser').uncheck();
  await keys.getByRole('button', { name: 'Close' }).click();
  await page.reload();
  await expect(page.locator('.connection')).toContainText('Live');
  await page.keyboard.press('?');
  await page.keyboard.press('p');
  await expect(keys).toBeHidden();
  await expect(page.getByRole('button', { name: 'Pause updates' })).toBeVisible();
});
