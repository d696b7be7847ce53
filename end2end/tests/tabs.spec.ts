import type { Request } from '@playwright/test';
import { expect, test } from './support/test';

test('three tabs share one stream, and another takes over when the first goes', async ({ context, spillway }) => {
  await spillway.call('ana', 1);
  // A tab that listens begins anew when another opens, so that all get a snapshot: what counts is how many are open.
  const streams = new Set<Request>();
  context.on('request', (request) => {
    if (request.url().endsWith('/api/v1/live')) streams.add(request);
  });
  for (const end of ['requestfailed', 'requestfinished'] as const) {
    context.on(end, (request) => streams.delete(request));
  }
  const open = async () => {
    const page = await context.newPage();
    await page.goto(spillway.dashboard);
    await expect(page.locator('.connection')).toContainText('Live');
    return page;
  };
  const [first, second, third] = [await open(), await open(), await open()];
  await expect.poll(() => streams.size).toBe(1);

  const hour = (page: typeof first) => page.getByRole('meter', { name: 'User ana: Hour' });
  await spillway.call('ana', 2);
  for (const page of [first, second, third]) await expect(hour(page)).toHaveAttribute('aria-valuenow', '3');

  streams.clear();
  await first.close();
  await expect.poll(() => streams.size).toBe(1);
  await spillway.call('ana', 2);
  for (const page of [second, third]) await expect(hour(page)).toHaveAttribute('aria-valuenow', '5');
});
