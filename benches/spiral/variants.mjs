/** What is run. Times are the contenders', not the wall's. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What OneNote grants one user of one app, and what Spillway's background lane takes of it unless told otherwise. */
const WHOLE = { minute: 120, hour: 400 };
const HALF = { minute: 60, hour: 200 };

/** All 1,300 pages at once. */
const AT_ONCE = [{ at_ms: 0, pages: 1_300 }];

/** The same pages in three jobs. Each finds a program that was idle and whose clock is five minutes before the hour. */
const BURSTS = [
  { at_ms: 55 * MINUTE_MS, pages: 500 },
  { at_ms: 235 * MINUTE_MS, pages: 400 },
  { at_ms: 355 * MINUTE_MS, pages: 400 },
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
const LENIENT_SLIDING = { windows: 'sliding', rejected: 'ignore' };

const variant = (contender, more) => ({
  contender,
  limits: WHOLE,
  bursts: AT_ONCE,
  restarts: [],
  processes: 1,
  stop_after_ms: 8 * HOUR_MS,
  ...more,
});

/** A contender behind the gateway. Those that share one have upstreams of their own, and so nothing in common. */
const behind = (contender, more) => ({
  ...variant(contender, { stop_after_ms: 10 * HOUR_MS }),
  gateway: 'steady',
  headers: { 'spillway-lane': 'background' },
  ...more,
});

const bursts = (more) => ({ event: 'bursts after idling', bursts: BURSTS, ...more });
const processes = (more) => ({ event: 'four processes', processes: 4, ...more });
const restarts = (more) => ({ event: 'two restarts', restarts: RESTARTS, ...more });
const half = (more) => ({ limits: HALF, ...more });

/** The last of them begins some minutes after the first, so that they do not all call in the same moment. */
export const SPILLWAY = [
  behind('patient', restarts({ ...SLIDING, gateway: 'restarted' })),
  behind('patient', restarts(half({ ...SLIDING, gateway: 'restarted' }))),
  behind('patient', restarts(half({ ...FIXED, gateway: 'restarted' }))),
  behind('patient', bursts(SLIDING)),
  behind('patient', bursts(half(SLIDING))),
  behind('patient', bursts(half(FIXED))),
  behind('patient', half(FIXED)),
  behind('patient', half(SLIDING)),
  behind('patient', half(LENIENT)),
  behind('patient', half(LENIENT_SLIDING)),
  behind('patient', processes(half(SLIDING))),
  behind('patient', processes(half(FIXED))),
  behind('spillway', half(SLIDING)),
  behind('patient', processes(SLIDING)),
  behind('patient', FIXED),
  behind('patient', SLIDING),
  behind('spillway', FIXED),
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

/** These never end by themselves. Three hours are what the others need at least. */
export const STORMS = [
  variant('requeue', { ...FIXED, stop_after_ms: 3 * HOUR_MS }),
  variant('requeue', { ...SLIDING, stop_after_ms: 3 * HOUR_MS }),
];
