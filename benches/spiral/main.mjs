/**
 * The death spiral, side by side: 1,300 pages of one user, read by several kinds of clients from an API that throttles.
 * Method and results: docs/BENCHMARKS.md. Prints Markdown; progress goes to standard error.
 *
 * `SPILLWAY_BIN=… node main.mjs`, or `make bench`. Fails where Spillway misses what it promises.
 */
import { runAll } from './group.mjs';
import { line, table } from './table.mjs';
import { pagePaths } from './upstream.mjs';
import { OTHERS, SPILLWAY, STORMS } from './variants.mjs';
import { misses } from './verdict.mjs';

/** How fast time passes. Those who depend on waits of less than a second get twice the wall time for them. */
const SCALE = { spillway: 120, others: 60 };

const program = process.env.SPILLWAY_BIN;
if (!program) throw new Error('SPILLWAY_BIN must name the program under test');

const began = performance.now();
const say = (text) => console.error(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${text}`);
const ended = (result) => say(line(result));

const paths = await pagePaths(program);
const run = (scale, variants) => runAll({ program, paths, scale }, variants, ended);
say(`${SPILLWAY.length + OTHERS.length + STORMS.length} runs, some eight minutes`);
const others = run(SCALE.others, OTHERS);
const gated = await run(SCALE.spillway, SPILLWAY);
// By themselves: what they send would slow the others down.
const storms = await run(SCALE.others, STORMS);
const results = [...storms, ...(await others), ...gated];

const whole = ({ variant }) => variant.limits.hour === 400;
const show = (title, wanted) => console.log(`\n#### ${title}\n\n${table(results.filter(wanted))}`);
show('Whole limits: 120 a minute, 400 an hour, 5 at once', (result) => whole(result) && !result.variant.event);
show('Whole limits, when something happens', (result) => whole(result) && result.variant.event);
show('The background lane’s default share, one half: 60, 200, 2', (result) => !whole(result));

const failures = gated.flatMap(misses);
failures.forEach((failure) => say(`MISSED: ${failure}`));
say(failures.length === 0 ? 'Spillway kept every promise' : `Spillway missed ${failures.length}`);
process.exitCode = failures.length === 0 ? 0 : 1;
