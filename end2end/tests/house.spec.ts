import { expect, test } from './support/test';

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('the overview says what was changed in the last hour, and how Spillway itself is', async ({ page, spillway }) => {
      await spillway.call('ana', 1);
      await spillway.inject({ user: 'ana', fault: { status: 429, retry_after: '600' } });
      await spillway.tryCall('ana');
      await spillway.steer('pause', { scope: 'upstream' });
      // What is counted is told when the next look is taken; a start takes one.
      await spillway.restart();
      await page.goto(spillway.dashboard);
      const lastHour = page.getByRole('region', { name: 'The last hour' });
      await expect(lastHour).toContainText('paused graph/background');
      await expect(lastHour).toContainText('\u201ca test\u201d');
      await expect(lastHour).toContainText('started the server');
      await expect(lastHour).toContainText('1 upstream 429');
      const itself = page.getByRole('region', { name: 'Spillway itself' });
      await expect(itself.getByRole('listitem').filter({ hasText: 'Database' })).toContainText('answers');
      await expect(itself.getByRole('listitem').filter({ hasText: 'Journal of graph' })).toContainText('on disk');
    });
  });
}
