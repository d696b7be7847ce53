import type { Page } from '@playwright/test';
import { APP, type Spillway } from './support/processes';
import { expected, meters } from './support/overview';
import { expect, test } from './support/test';

test('gauges equal the state, move by themselves and agree with the referee', async ({ page, spillway }) => {
  await spillway.call('ana', 12);
  await spillway.call('kim', 3, { 'Spillway-Lane': 'background' });
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  await expectState(page, spillway);
  expect(Object.keys(await meters(page))).toHaveLength(6);

  await spillway.call('ana', 9);
  await expect.poll(async () => (await meters(page))['User ana: Hour'].used).toBe(21);
  await expectState(page, spillway);

  const [shown, referee] = [await meters(page), await spillway.referee()];
  const ana = referee.budgets.find((budget) => budget.user === 'ana');
  const hour = ana?.layers.find((layer) => layer.window_ms === 3_600_000);
  expect(hour?.last_window).toBe(shown['User ana: Hour'].used);
  expect(referee.arrived).toBe(shown[`App ${APP}: Hour`].used);
  expect(shown[`App ${APP}: Hour`].background).toBe(3);
  expect(referee.rejected).toBe(0);
});

test('the reader can stop what moves, and what came meanwhile is not lost', async ({ page, spillway }) => {
  await spillway.call('ana', 2);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  const hour = page.getByRole('meter', { name: 'User ana: Hour' });
  await page.getByRole('button', { name: 'Pause updates' }).click();
  await expect(page.locator('.connection')).toContainText('Paused');
  await spillway.call('ana', 5);
  // The age counts on while the values stand still.
  await expect(page.locator('.connection')).toContainText(/values [2-9]\.\d s old/);
  await expect(hour).toHaveAttribute('aria-valuenow', '2');
  await page.getByRole('button', { name: 'Resume updates' }).click();
  await expect(hour).toHaveAttribute('aria-valuenow', '7');
  await expect(page.locator('.connection')).toContainText('Live');
});

test('users closest to a limit are listed, closest first', async ({ page, spillway }) => {
  await spillway.call('kim', 3);
  await spillway.call('ana', 30);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.users tbody tr th')).toHaveText([/^ana/, /^kim/]);
  await expect(page.locator('.users tbody tr').first()).toContainText('30 of 120 this minute');
});

test('before the first call the page says what to do', async ({ page, spillway }) => {
  await page.goto(spillway.dashboard);
  await expect(page.locator('.lead')).toContainText(`${spillway.gateway}/graph/`);
  await expect(page.locator('.connection')).toContainText('Live');
  await spillway.call('ana', 1);
  await expect(page.getByRole('meter', { name: 'User ana: Hour' })).toHaveAttribute('aria-valuenow', '1');
});

async function expectState(page: Page, spillway: Spillway): Promise<void> {
  // The state is asked anew each time: a minute may end between two looks.
  await expect(async () => {
    expect(await meters(page)).toEqual(expected(await spillway.state()));
  }).toPass({ timeout: 10_000 });
}
