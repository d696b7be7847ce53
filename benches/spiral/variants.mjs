/** What is run. Times are the contenders', not the wall's. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What OneNote grants one user of one app, and what Spillway's background lane takes of it unless told otherwise. */
const WHOLE = { minute: 120, hour: 400, concurrent: 5 };
const HALF = { minute: 60, hour: 200, concurrent: 2 };

/** All 1,300 pages at once. */
const AT_ONCE = [{ at_ms: 0, pages: 1_300 }];

/** The same pages in two jobs. Each finds a program that was idle and whose clock is five minutes before the hour. */
const BURSTS = [
  { at_ms: 55 * MINUTE_MS, pages: 650 },
  { at_ms: 295 * MINUTE_MS, pages: 650 },
];

/** Two deployments: one in mid-burst and without warning, one in an orderly way as the second hour begins. */
const RESTARTS = [
  { at_ms: 100_000, signal: 'SIGKILL' },
  { at_ms: HOUR_MS + 30_000, signal: 'SIGTERM' },
];

/** How the upstream counts: its windows' kind, and whether refused calls count. */
const FIXED = { windows: 'fixed', rejected: 'count' };
const SLIDING = { windows: 'sliding', rejected: 'count' };
const LENIENT = { windows: 'fixed', rejected: 'ignore' };

const variant = (contender, more) => ({
  contender,
  limits: WHOLE,
  bursts: AT_ONCE,
  restarts: [],
  processes: 1,
  stop_after_ms: 8 * HOUR_MS,
  ...more,
});

/** How much longer than the minimum Spillway may take. */
const OVER_MAX = 1.02;

/** A contender behind the gateway. Those that share one have upstreams of their own, and so nothing in common. */
const behind = (contender, more) => ({
  ...variant(contender, { stop_after_ms: 10 * HOUR_MS }),
  gateway: 'steady',
  headers: { 'spillway-lane': 'background' },
  over_max: OVER_MAX,
  ...more,
});

const bursts = (more) => ({ event: 'bursts after idling', bursts: BURSTS, ...more });
const processes = (more) => ({ event: 'four processes', processes: 4, ...more });
const restarts = (more) => ({ event: 'two restarts', restarts: RESTARTS, ...more });
const half = (more) => ({ limits: HALF, ...more });

/**
 * For comparison only: a gateway that is killed keeps the slots of the calls that ran for two minutes, since they may
 * still run upstream, which alone is a hundredth of a job of three hours.
 */
const compared = (more) => ({ over_max: Infinity, ...more });

export const SPILLWAY = [
  behind('patient', restarts(half({ ...SLIDING, gateway: 'restarted' }))),
  behind('patient', compared(restarts({ ...SLIDING, gateway: 'restarted' }))),
  behind('patient', bursts(half(SLIDING))),
  behind('patient', half(FIXED)),
  behind('patient', half(SLIDING)),
  behind('patient', half(LENIENT)),
  behind('patient', processes(half(SLIDING))),
  behind('patient', compared(bursts(SLIDING))),
  behind('patient', compared(processes(SLIDING))),
  behind('patient', FIXED),
  behind('patient', SLIDING),
  behind('spillway', SLIDING),
];

export const OTHERS = [
  variant('bottleneck', bursts(SLIDING)),
  variant('bottleneck', processes(SLIDING)),
  variant('bottleneck', restarts(SLIDING)),
  variant('bottleneck', FIXED),
  variant('bottleneck', SLIDING),
  variant('sdk', FIXED),
  variant('sdk', SLIDING),
];

/** These would never end. */
export const STORMS = [
  variant('requeue', { ...FIXED, stop_after_ms: HOUR_MS }),
  variant('requeue', { ...SLIDING, stop_after_ms: HOUR_MS }),
];
