/**
 * One process of a contender: reads pages until all are done or lost.
 *
 * Its standard input has two lines: the job in JSON (see `#job` in run.mjs), and how many milliseconds ago the run began,
 * upon which it begins. It writes a line for each page, `{"page": 7, "done": true, "at_ms": 1234}`, then `{"calls": …}`. All
 * its times are its own clock's, which may run faster than the wall's without its knowing (time.mjs).
 */
import { createInterface } from 'node:readline';
import { bottleneck } from './contenders/bottleneck.mjs';
import { requeue } from './contenders/requeue.mjs';
import { sdk } from './contenders/sdk.mjs';
import { patient, spillway } from './contenders/spillway.mjs';
import { get } from './http.mjs';

const contenders = { bottleneck, patient, requeue, sdk, spillway };

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const heard = async () => JSON.parse((await input.next()).value);
const job = await heard();
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const calls = { sent: 0, throttled: 0, broken: 0 };
let left = job.pages.length;
let since_ms;
let began_ms;

/** Milliseconds since the run began, which may have been before this process was started. */
const now = () => since_ms + performance.now() - began_ms;

async function read(page) {
  calls.sent += 1;
  const answer = await get(`${job.base_url}${page.path}`, job.headers);
  if (answer.status === 429) calls.throttled += 1;
  else if (answer.status !== 200) calls.broken += 1;
  return { ...answer, ok: answer.status === 200 && answer.body.length > 0 };
}

function settled(page, done) {
  say({ page: page.number, done, at_ms: Math.round(now()) });
  left -= 1;
  if (left > 0) return;
  process.stdout.write(`${JSON.stringify({ calls })}\n`, () => process.exit());
}

say({ ready: true });
since_ms = await heard();
began_ms = performance.now();
// Not before: a limiter's windows may begin with its making, and should not have begun when the run does.
const submit = contenders[job.contender]({
  limits: job.limits,
  workers: job.limits.concurrent,
  read,
  done: (page) => settled(page, true),
  lost: (page) => settled(page, false),
});
for (const page of job.pages) setTimeout(submit, Math.max(0, page.arrives_ms - now()), page);
