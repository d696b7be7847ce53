/**
 * The death spiral, side by side: 1,300 pages of one user, read by several kinds of clients from an API that throttles.
 * Method and results: docs/BENCHMARKS.md. Prints Markdown; progress goes to standard error.
 *
 * `SPILLWAY_BIN=… node main.mjs`, or `make bench`. Fails where Spillway misses what it promises.
 */
import { loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { runAll } from './group.mjs';
import { line, table } from './table.mjs';
import { pagePaths } from './upstream.mjs';
import { OTHERS, SPILLWAY, STORMS } from './variants.mjs';
import { misses } from './verdict.mjs';

/** How fast time passes: an hour in a minute. */
const SCALE = 60;

const program = process.env.SPILLWAY_BIN;
if (!program) throw new Error('SPILLWAY_BIN must name the program under test');

const began = performance.now();
const seconds = () => String(Math.round((performance.now() - began) / 1_000));
const say = (text) => console.error(`${seconds().padStart(4)} s  ${text}`);
const ended = (result) => say(line(result));

const paths = await pagePaths(program);
const run = (variants) => runAll({ program, paths, scale: SCALE }, variants, ended);
const lateness = monitorEventLoopDelay({ resolution: 1 });
lateness.enable();
say(`${SPILLWAY.length + OTHERS.length + STORMS.length} runs, some nine minutes`);
const others = run(OTHERS);
const gated = await run(SPILLWAY);
// By themselves: what they send would slow the others down.
const storms = await run(STORMS);
const results = [...storms, ...(await others), ...gated];

const whole = ({ variant }) => variant.limits.hour === 400;
const show = (title, wanted) => console.log(`\n#### ${title}\n\n${table(results.filter(wanted))}`);
show('Whole limits: 120 a minute, 400 an hour, 5 at once', (result) => whole(result) && !result.variant.event);
show('Whole limits, when something happens', (result) => whole(result) && result.variant.event);
show('The background lane’s default share, one half: 60, 200, 2', (result) => !whole(result));

const late = (percent) => `${((lateness.percentile(percent) / 1e9) * SCALE).toFixed(1)} s`;
say(`load ${loadavg()[0].toFixed(1)}; timers took ${late(50)} of the contenders’ time, one in a hundred ${late(99)}`);
const failures = gated.flatMap(misses);
failures.forEach((failure) => say(`MISSED: ${failure}`));
say(failures.length === 0 ? 'Spillway kept every promise' : `Spillway missed ${failures.length}`);
process.exitCode = failures.length === 0 ? 0 : 1;
