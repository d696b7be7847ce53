/** What Spillway promises: every page, no call rejected, and hardly longer than it must take. */
import { line } from './table.mjs';

/** How much longer than the minimum it may take. */
const OVER_MAX = 1.02;

/** The promises that a run broke, each in a line. */
export function misses(result) {
  const { pages, done, rejected, took_ms, minimum_ms, peaks, variant } = result;
  const broken = [
    [done === pages, 'pages are missing'],
    [rejected === 0, 'calls were rejected'],
    [took_ms <= OVER_MAX * minimum_ms, `it took more than ${OVER_MAX} times the minimum`],
    [peaks[0] <= variant.limits.minute && peaks[1] <= variant.limits.hour, 'a window held more than its share'],
  ];
  return broken.filter(([kept]) => !kept).map(([, what]) => `${what}: ${line(result)}`);
}
