import Bottleneck from 'bottleneck';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** When a page that was throttled all the same is scheduled again; the limiters count it again. */
const DELAY_MS = 30_000;

/**
 * The npm package bottleneck, told the same limits in the way of its README: a reservoir with a refresh interval for
 * each window, `minTime` and `maxConcurrent` to spread the calls, and `chain` so that a call meets both.
 */
export function bottleneck({ limits, read, done }) {
  const minute = new Bottleneck({
    maxConcurrent: limits.concurrent,
    minTime: MINUTE_MS / limits.minute,
    reservoir: limits.minute,
    reservoirRefreshAmount: limits.minute,
    reservoirRefreshInterval: MINUTE_MS,
  });
  const hour = new Bottleneck({
    reservoir: limits.hour,
    reservoirRefreshAmount: limits.hour,
    reservoirRefreshInterval: HOUR_MS,
  });
  minute.chain(hour);
  const schedule = async (page) => {
    const answer = await minute.schedule(() => read(page));
    if (answer.ok) done(page);
    else setTimeout(schedule, DELAY_MS, page);
  };
  return schedule;
}
