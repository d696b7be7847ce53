/** What is possible, and what was reached. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What a call takes at least: `spillway simulate` draws from 300 ms to 900 ms. */
const CALL_MS_MIN = 300;

/**
 * When each page can be there at the earliest, if no window of any phase may hold more than its limit: page n is asked
 * for when it has arrived, page n - minute was asked for a minute ago, page n - hour an hour ago, and page
 * n - concurrent is there. Every call is as short as any, so that nobody can be faster.
 *
 * @param {number[]} arrivals_ms ascending
 * @param {{minute: number, hour: number, concurrent: number}} limits calls in any window, and at once
 * @returns {number[]} instants in milliseconds
 */
export function earliest(arrivals_ms, limits) {
  const asked = [];
  const after = (n, ms) => (n < 0 ? 0 : asked[n] + ms);
  for (const [n, arrives] of arrivals_ms.entries()) {
    const minute = after(n - limits.minute, MINUTE_MS);
    const hour = after(n - limits.hour, HOUR_MS);
    asked.push(Math.max(arrives, minute, hour, after(n - limits.concurrent, CALL_MS_MIN)));
  }
  return asked.map((at) => at + CALL_MS_MIN);
}

/**
 * How long the work took, over how long it must take: from the arrival of each burst to its last page, idle time
 * between bursts left out.
 *
 * @param {{arrives_ms: number}[]} pages ascending
 * @param {(number | undefined)[]} done_ms when each page was read
 * @returns {{took_ms: number, minimum_ms: number}} `took_ms` is infinite where a page was not read
 */
export function compare(pages, done_ms, limits) {
  const possible = earliest(pages.map((page) => page.arrives_ms), limits);
  return { took_ms: busy(pages, done_ms), minimum_ms: busy(pages, possible) };
}

/** The sum over all bursts of the time from arrival to the last page. */
function busy(pages, ended_ms) {
  const spans = new Map();
  for (const [n, { arrives_ms }] of pages.entries()) {
    const span = (ended_ms[n] ?? Infinity) - arrives_ms;
    spans.set(arrives_ms, Math.max(span, spans.get(arrives_ms) ?? 0));
  }
  return [...spans.values()].reduce((sum, span) => sum + span, 0);
}
