/** What 100,000 lists take that have an event in each of the minutes that late reports reach. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { address } from '../gateway/configuration.mjs';
import { start } from '../gateway/servers.mjs';

const LISTS = 100_000;
const SITES = 1_000;
const MANY = 1_000;

/** A minute lasts a second: sixteen of them are remembered for late reports, sixty for pages. */
const MINUTES = 20;

/** Megabytes of resident memory that the lists take, at most: before them and while they are active. */
export async function memory() {
  const server = await start('fast');
  try {
    await report(0, 1);
    await sleep(1_000);
    const before = resident(server);
    let most = before;
    for (let minute = 0; minute < MINUTES; minute++) {
      const next = sleep(1_000);
      for (let from = 0; from < LISTS; from += MANY) await report(from, MANY);
      most = Math.max(most, resident(server));
      await next;
    }
    console.error(`memory: ${before.toFixed(0)} MB before, ${resident(server).toFixed(0)} MB after, ${most.toFixed(0)} MB at most`);
    return most - before;
  } finally {
    await server.stop();
  }
}

async function report(from, many) {
  const events = Array.from({ length: many }, (_, n) => ({
    site: `site-${(from + n) % SITES}`,
    list: `list-${from + n}`,
    component: 'action',
    trigger: 'event',
  }));
  const answer = await fetch(address('dashboard', '/api/v1/events'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(events),
  });
  const answers = await answer.json();
  if (answers.length !== many || answers.some(({ decision }) => decision !== 'handle')) {
    throw new Error(`not all handled: ${JSON.stringify(answers.find(({ decision }) => decision !== 'handle'))}`);
  }
}

function resident(server) {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)[1]) / 1024;
}
