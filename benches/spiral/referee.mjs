/** What is possible, and what was reached. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * When each page can be read at the earliest, if no window of any phase may hold more than its limit: page n waits for
 * its arrival, for page n - minute's instant to be a minute ago, and for page n - hour's to be an hour ago.
 *
 * Calls take no time here and concurrency does not limit them, so that nobody can be faster.
 *
 * @param {number[]} arrivals_ms ascending
 * @param {{minute: number, hour: number}} limits calls in any window
 * @returns {number[]} instants in milliseconds
 */
export function earliest(arrivals_ms, limits) {
  const at = [];
  for (const [n, arrives] of arrivals_ms.entries()) {
    const minute = n < limits.minute ? 0 : at[n - limits.minute] + MINUTE_MS;
    const hour = n < limits.hour ? 0 : at[n - limits.hour] + HOUR_MS;
    at.push(Math.max(arrives, minute, hour));
  }
  return at;
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
