/** What is measured in each round. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWERED, address } from './configuration.mjs';
import { load } from './load.mjs';
import { start } from './servers.mjs';

/**
 * For how long an answer takes: the same calls a second for everybody, few enough that nobody has to wait for another
 * (16 connections that pause for 4 ms on average after each answer make some 3,700).
 */
const CALM = { connections: 16, seconds: 4, given: ['8'] };

/** For what a call costs: enough to keep the one processor busy. */
const BUSY = { connections: 32, seconds: 4 };

/** Before anything is measured. */
const WARM_S = 1;

/** At most 100,000 permits may be out; these stay out. */
const DECISIONS = { connections: 32, seconds: 60, warm: 5_000, measured: 80_000 };

/** Less is a load that did not keep its server busy: then the price of a call is not what it would be. */
const BUSY_AT_LEAST = 0.9;

/** The same calls without anybody in between. */
export async function direct() {
  await load(address('upstream'), 'calls.lua', { ...CALM, seconds: WARM_S, answered: answeredUpstream });
  return load(address('upstream'), 'calls.lua', { ...CALM, answered: answeredUpstream });
}

/** Calls through a server: calm for their time, busy for their cost. */
export async function through(name, port) {
  const calls = (how) => load(address(port), 'calls.lua', { ...how, answered: answeredUpstream });
  return withServer(name, async (server) => {
    await calls({ ...BUSY, seconds: WARM_S });
    const { p50, p99, perSecond } = await calls(CALM);
    const { perCpuSecond, busy } = await calls({ ...BUSY, server });
    return { p50, p99, calmPerSecond: perSecond, perCpuSecond, busy: checked(name, busy) };
  });
}

/** One user's permits, each for one call; they stay out. */
export function permits() {
  const metric = /^spillway_calls_admitted_total\{.*\} (\d+)$/gm;
  const body = JSON.stringify({ upstream: 'api', user: 'api-key-123' });
  return asked('spillway', 'dashboard', '/api/v1/permits', body, metric);
}

/** One key's throttling, as throttlecrab-server's documentation asks, with a limit that it does not reach. */
export function throttles() {
  const metric = /^throttlecrab_requests_allowed (\d+)$/gm;
  const body = JSON.stringify({ key: 'api-key-123', max_burst: 1e9, count_per_period: 1e9, period: 60 });
  return asked('throttlecrab', 'throttlecrab', '/throttle', body, metric);
}

async function asked(name, port, path, body, metric) {
  const { connections, seconds, warm, measured } = DECISIONS;
  const answered = () => sum(address(port, '/metrics'), metric);
  return withServer(name, async (server) => {
    const decide = (count) =>
      load(address(port), 'decisions.lua', { connections, seconds, given: [count, path, body], server, answered });
    await decide(warm);
    const { perCpuSecond, busy, p50, p99 } = await decide(measured);
    return { perCpuSecond, busy: checked(name, busy), p50, p99 };
  });
}

async function withServer(name, measure) {
  const server = await start(name);
  try {
    return await measure(server);
  } finally {
    await server.stop();
  }
}

function checked(name, busy) {
  if (busy < BUSY_AT_LEAST) throw new Error(`${name} was busy for ${busy.toFixed(2)} of the time: the load is too small`);
  return busy;
}

async function answeredUpstream() {
  const text = await (await fetch(address('upstream', ANSWERED))).text();
  // "server accepts handled requests", and then the three.
  return Number(text.match(/^ \d+ \d+ (\d+)/m)[1]);
}

/** What a server itself has counted. */
async function sum(url, metric) {
  // Spillway gathers its metrics at most twice a second.
  await sleep(600);
  const text = await (await fetch(url)).text();
  return [...text.matchAll(metric)].reduce((sum, [, count]) => sum + Number(count), 0);
}
