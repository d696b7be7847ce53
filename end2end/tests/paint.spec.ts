import { expect, test } from './support/test';

/** How many times the page is loaded, each time with nothing in the cache. */
const LOADS = 11;

/**
 * How soon the overview has to be painted: a debug build on a busy machine only has to come. What a release build takes on
 * an idle one is in docs/BENCHMARKS.md; `SPILLWAY_BIN=… SPILLWAY_PAINT_MS_MAX=… npm test -- paint` holds one to a bound.
 */
const PAINT_MS_MAX = Number(process.env.SPILLWAY_PAINT_MS_MAX ?? 2_000);

test('the overview is painted soon', async ({ browser, spillway }) => {
  for (const user of ['ana', 'kim', 'li', 'noor']) await spillway.call(`${user}@contoso.example`, 20);
  const page = await (await browser.newContext()).newPage();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  const paints: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    // Coming from another site a browser starts a process first, which is no work of the page's.
    await page.goto(`${spillway.dashboard}/limits`);
    await page.goto(spillway.dashboard);
    await expect(page.locator('.connection')).toContainText('Live');
    paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  }
  // The first load starts what a browser starts only once.
  const rest = paints.slice(1).sort((a, b) => a - b);
  const [median, most] = [rest[Math.floor(rest.length / 2)], rest[rest.length - 1]];
  console.log(`first contentful paint: first ${paints[0].toFixed(0)} ms, then median ${median.toFixed(0)} ms, at most ${most.toFixed(0)} ms`);
  expect(median).toBeLessThan(PAINT_MS_MAX);
});
