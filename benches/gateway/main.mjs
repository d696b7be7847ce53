/**
 * What a call through Spillway costs: its gateway beside nginx with limits, before the same upstream; its permit API
 * beside throttlecrab-server. Method and results: docs/BENCHMARKS.md. Prints Markdown; progress goes to standard error.
 *
 * `SPILLWAY_BIN=… THROTTLECRAB_BIN=… node main.mjs`, or `make bench`. Fails where Spillway misses what it promises.
 */
import { loadavg } from 'node:os';
import { direct, permits, throttles, through } from './phases.mjs';
import { start } from './servers.mjs';
import { decisions, gateway, misses } from './verdict.mjs';

/** Each figure is the median of so many rounds, in which all take turns. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);

const say = (text) => console.error(text);
const upstream = await start('upstream');
const rounds = [];
for (let round = 1; round <= ROUNDS; round++) {
  // Whoever is second finds the machine as the first has left it: they take turns at that, too.
  const contenders = [
    ['nginx', () => through('nginx', 'nginx')],
    ['spillway', () => through('spillway', 'gateway')],
    ['throttlecrab', throttles],
    ['permits', permits],
  ];
  if (round % 2 === 0) contenders.reverse();
  const results = { direct: await direct() };
  for (const [name, measure] of contenders) results[name] = await measure();
  rounds.push(results);
  say(`round ${round} of ${ROUNDS}, load ${loadavg()[0].toFixed(1)}`);
}
await upstream.stop();

const tables = [gateway(rounds), decisions(rounds)];
tables.forEach(({ text }) => console.log(`\n${text}`));
const missed = tables.flatMap(misses);
missed.forEach((what) => say(`MISSED: ${what}`));
say(missed.length === 0 ? 'Spillway kept every promise' : `Spillway missed ${missed.length}`);
process.exitCode = missed.length === 0 ? 0 : 1;
