/**
 * What it costs to ask the flood guard, beside a plain counter behind the same route (`peer`). Method and results:
 * docs/BENCHMARKS.md. Prints Markdown; progress goes to standard error.
 *
 * `SPILLWAY_BIN=… COUNTER_BIN=… node main.mjs`, or `make bench`. Fails where Spillway misses what it promises.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { address } from '../gateway/configuration.mjs';
import { load } from '../gateway/load.mjs';
import { start } from '../gateway/servers.mjs';
import { memory } from './memory.mjs';

/** Each figure is the median of so many rounds, in which both take turns. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = 3;
const CONNECTIONS = 32;

/** Half load: so many connections, which pause so that they make half of what the server can. */
const CALM_CONNECTIONS = 64;

/** As many events as one list may carry. */
const MANY = 1_000;

const KINDS = {
  counter: { port: 'counter', counted: async () => Number(await text(address('counter', '/count'))) },
  spillway: { port: 'dashboard', counted: spillwayCounted },
};

const say = (text) => console.error(text);
const rounds = [];
for (let round = 1; round <= ROUNDS; round++) {
  const results = {};
  const names = round % 2 === 0 ? ['spillway', 'counter'] : ['counter', 'spillway'];
  for (const name of names) results[name] = await measure(name);
  rounds.push(results);
  say(`round ${round} of ${ROUNDS}: ${JSON.stringify(results)}`);
}
const bytes = await memory();

const of = (name, figure) => median(rounds.map((round) => round[name][figure]));
const ratio = (a, b) => median(rounds.map((round) => a(round) / b(round)));
const promises = [
  ['single events a second', of('counter', 'single'), of('spillway', 'single'),
    ratio((it) => it.spillway.single, (it) => it.counter.single), { least: 0.7 }],
  ['the same for each second of processor time', of('counter', 'perCpu'), of('spillway', 'perCpu'),
    ratio((it) => it.spillway.perCpu, (it) => it.counter.perCpu), {}],
  ['events a second in lists of 1,000', of('counter', 'many'), of('spillway', 'many'),
    ratio((it) => it.spillway.many, (it) => it.spillway.single), { least: 20, note: 'times its single ones, ' }],
  ['a single event at half load, one in a hundred takes', `${of('counter', 'p99').toFixed(2)} ms`,
    `${of('spillway', 'p99').toFixed(2)} ms`, of('spillway', 'p99'), { most: 5, note: 'ms, ' }],
  ['100,000 lists, each active once a minute', '', `${bytes.toFixed(0)} MB`, bytes, { most: 100, note: 'MB, ' }],
];
console.log('| | DashMap counter | Spillway | | |\n|---|--:|--:|--:|---|');
for (const [what, peer, ours, figure, bar] of promises) {
  console.log(`| ${what} | ${shown(peer)} | ${shown(ours)} | ${figure.toFixed(2)} | ${bar.note ?? ''}${said(bar)} |`);
}
const missed = promises.filter(([, , , figure, { least, most }]) => !(figure >= (least ?? 0) && figure <= (most ?? Infinity)));
missed.forEach(([what, , , figure]) => say(`MISSED: ${what}: ${figure.toFixed(2)}`));
say(missed.length === 0 ? 'Spillway kept every promise' : `Spillway missed ${missed.length}`);
process.exitCode = missed.length === 0 ? 0 : 1;

/** Singly, in lists, and calmly. */
async function measure(name) {
  const { port, counted } = KINDS[name];
  const server = await start(name);
  try {
    if (name === 'spillway') await widen();
    const run = (many, how = {}) => {
      const { pause, ...rest } = { connections: CONNECTIONS, seconds: SECONDS, server, ...how };
      const given = [many, ...(pause ? [pause] : [])].map(String);
      // What is counted are events: as many as calls times what each carries.
      const answered = async () => (await counted()) / many;
      return load(address(port), '../floods/events.lua', { ...rest, given, answered });
    };
    await run(1, { seconds: 1 });
    const single = await run(1);
    const many = await run(MANY);
    // The mean of even pauses is half of the longest; the answer's own time is small beside it.
    const pause = Math.max(1, Math.round((2 * CALM_CONNECTIONS * 1_000) / (single.perSecond / 2)));
    const calm = await run(1, { connections: CALM_CONNECTIONS, pause });
    return { single: single.perSecond, perCpu: single.perCpuSecond, busy: single.busy, many: many.perSecond * MANY,
      manyBusy: many.busy, p99: calm.p99, p50: calm.p50, load: calm.perSecond / single.perSecond };
  } finally {
    await server.stop();
  }
}

/** As wide as policies go, so that nothing is disabled before the end: what is struck is counted all the same. */
async function widen() {
  const path = address('dashboard', '/api/v1/flood-policies/action');
  const { headers } = await fetch(path);
  const policy = { per_minute: 1_000_000, strikes_per_day: 1_500, grace: 1_500 };
  const changed = await fetch(path, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'If-Match': headers.get('etag') },
    body: JSON.stringify({ policy, reason: 'a benchmark' }),
  });
  if (!changed.ok) throw new Error(await changed.text());
}

/** The minutes of all lists, which are up to a second old. */
async function spillwayCounted() {
  await sleep(1_500);
  let sum = 0;
  for (let n = 0; n < 1_000; n++) {
    const path = `/api/v1/sites/site-${n % 50}/lists/list-${n}/minutes`;
    const { components } = JSON.parse(await text(address('dashboard', path)));
    for (const { minutes } of components) sum += minutes.reduce((sum, count) => sum + count, 0);
  }
  return sum;
}

async function text(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.text();
}

function median(figures) {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function shown(it) {
  return typeof it === 'number' ? Math.round(it).toLocaleString('en') : it;
}

function said({ least, most }) {
  if (least) return `at least ${least}`;
  return most ? `at most ${most}` : '';
}
