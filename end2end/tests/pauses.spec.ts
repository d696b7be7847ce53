import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { APP } from './support/processes';
import { expect, test } from './support/test';

const ANA = `/users/graph/onenote?user=ana&app=${APP}&tenant=contoso`;
const KIM = `/users/graph/onenote?user=kim&app=${APP}&tenant=contoso`;

const card = (page: Page) => page.getByRole('region', { name: 'Pauses', exact: true });

/** An hour ahead, in the middle of a second: ends are kept to the millisecond. */
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z/, '.500Z');

test('a pause appears with whose it is and its end, and is ended from the page with a reason', async ({ page, spillway }) => {
  await spillway.call('ana', 1);
  await page.goto(spillway.dashboard);
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(card(page)).toHaveCount(0);
  const loaded = await page.evaluate(() => performance.timeOrigin);

  const until = inAnHour();
  await spillway.steer('pause', { scope: 'user', tenant: 'contoso', user: 'ana', until });
  await spillway.steer('pause', {});
  const rows = card(page).locator('li');
  await expect(rows).toHaveText([/^All of graph until /, /^User ana of graph \(tenant contoso, app note-bridge\) until /]);
  await expect(rows.nth(1)).toContainText(`${until.slice(11, 19)} UTC`);
  await expect(rows.nth(1)).toContainText(/another (59|60) min/);

  // The button is nowhere near the first click, and takes a reason.
  await rows.nth(0).locator('summary').click();
  const button = rows.nth(0).getByRole('button', { name: 'Let them go on' });
  await button.click();
  await expect(rows).toHaveCount(2);
  await rows.nth(0).getByLabel('Reason, for the log').fill('the migration is done');
  await button.click();
  await expect(rows).toHaveText([/^User ana of graph/]);
  expect(await spillway.paused()).toEqual(['user']);

  await spillway.steer('resume', { scope: 'user', tenant: 'contoso', user: 'ana' });
  await expect(card(page)).toHaveCount(0);
  expect(await page.evaluate(() => performance.timeOrigin)).toBe(loaded);
});

test('a user is shown the pauses that stop it, and no others', async ({ page, spillway }) => {
  await spillway.steer('pause', { scope: 'user', tenant: 'contoso', user: 'ana' });
  await page.goto(spillway.dashboard + KIM);
  await expect(page.locator('.connection')).toContainText('Live');
  await expect(card(page)).toHaveCount(0);
  await page.goto(spillway.dashboard + ANA);
  await expect(card(page).locator('li')).toHaveText([/^User ana of graph/]);
  await card(page).locator('summary').click();
  await card(page).getByLabel('Reason, for the log').fill('fixed');
  await card(page).getByLabel('Reason, for the log').press('Enter');
  await expect(card(page)).toHaveCount(0);
  expect(await spillway.paused()).toEqual([]);
});

test.describe('where somebody else was quicker', () => {
  test.use({ refused: '/background/resume' });

  test('the page says what the server says', async ({ page, spillway }) => {
    await spillway.steer('pause', {});
    await page.goto(spillway.dashboard);
    await expect(page.locator('.connection')).toContainText('Live');
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await spillway.steer('resume', {});
    await card(page).locator('summary').click();
    await card(page).getByLabel('Reason, for the log').fill('fixed');
    await card(page).getByRole('button').click();
    await expect(card(page).getByRole('status')).toContainText('no pause of exactly these is in force');
    await page.getByRole('button', { name: 'Resume updates' }).click();
    await expect(card(page)).toHaveCount(0);
  });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('pauses are there, and a link leads to where they are ended', async ({ page, spillway }) => {
    await spillway.steer('pause', {});
    await page.goto(spillway.dashboard);
    await expect(card(page).locator('li')).toContainText(/^All of graph until .*UTC/);
    await card(page).getByRole('link', { name: 'End early' }).click();
    await expect(page).toHaveTitle('Background calls · Spillway');
    await page.getByRole('region', { name: 'Paused' }).getByLabel('Reason, for the log').fill('fixed');
    await page.getByRole('button', { name: 'Let them go on' }).click();
    await expect(page.getByRole('status')).toContainText('Background calls go on: All of graph.');
    expect(await spillway.paused()).toEqual([]);
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing, nor is anything wider than the page', async ({ page, spillway }) => {
      await spillway.call('ana', 1);
      const user = 'somebody.with.a.rather.long.name@tenant-with-a-long-name.example';
      await spillway.steer('pause', { scope: 'user', tenant: 'contoso', user });
      await spillway.steer('pause', {});
      await page.goto(spillway.dashboard);
      await expect(page.locator('.connection')).toContainText('Live');
      await card(page).locator('summary').first().click();
      for (const width of [1240, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(wider).toBeLessThanOrEqual(0);
      }
    });
  });
}
