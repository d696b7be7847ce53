/** What is under examples/, used as its readers would, against the permit API and the lookalike. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { freePorts } from '../tests/support/process.ts';
import { Stack, token } from './support/stack.ts';

/** A queue's example imports a package, so it has to lie where one is found: copied, as by its readers. */
const COPIED = 'clients/copied';

/** More than background calls of one user may make in a minute: half of 120. */
const JOBS = 75;

let stack: Stack;
before(async () => (stack = await Stack.start(10)));
after(() => stack?.stop());

function environment(user: string): Record<string, string> {
  return {
    SPILLWAY_URL: stack.dashboard,
    UPSTREAM_URL: stack.upstream('graph'),
    GRAPH_TOKEN: token(user),
    USER_KEY: user,
  };
}

/** The referee saw so many calls of this user and refused none, and no permit is left behind. */
async function assertKept(user: string, calls: number): Promise<void> {
  const { rejected, budgets } = await stack.referee('graph');
  assert.equal(rejected, 0);
  const [minute, hour, concurrent] = budgets.find((budget) => budget.user === user)?.layers ?? [];
  assert.equal(hour.peak, calls);
  assert.ok(minute.peak <= 60 && concurrent.peak <= 2, 'the background lane has half of each limit');
  assert.equal(await stack.inFlight(user), 0);
}

for (const [name, user, command] of [
  ['the fetch wrapper', 'fay', ['node', 'clients/programs/fetch-wrapper.ts']],
  ['the httpx transport', 'guy', ['python/venv/bin/python', 'clients/programs/httpx_transport.py']],
] as const) {
  test(`${name} keeps within the limits`, async () => {
    const { results } = await stack.run([...command], environment(user));
    assert.deepEqual(results.statuses, new Array(100).fill(200));
    assert.equal(results.missing, 404);
    await assertKept(user, 103);
    // What was given up may still run upstream: its permit stays taken.
    assert.equal(await stack.inFlight(`${user}-gives-up`), 1);
  });
}

test('the queue consumer puts jobs back without spending their attempts', async () => {
  const [port] = await freePorts(1);
  const redis = startRedis(port);
  cpSync('../examples/queue-consumer', COPIED, { recursive: true });
  try {
    const env = { ...environment('hal'), REDIS_PORT: String(port), JOBS: String(JOBS), PAGES: await pages('hal') };
    const { results } = await stack.run(['node', `${COPIED}/pages.ts`], env);
    assert.deepEqual(results.failed, []);
    assert.equal(results.done, JOBS);
    assert.deepEqual(results.attempts, new Array(JOBS).fill(1));
    assert.ok(results.begun > JOBS, 'no job was ever put back');
    await assertKept('hal', JOBS);
  } finally {
    redis.kill('SIGKILL');
    rmSync(COPIED, { recursive: true, force: true });
  }
});

test('the example in Python is typed', () => {
  const file = '../examples/httpx-transport/spillway_httpx.py';
  const cache = `${stack.folder}/mypy`;
  execFileSync('python/venv/bin/python', ['-m', 'mypy', '--strict', '--cache-dir', cache, file], { stdio: 'pipe' });
});

/** The ids of some pages, asked of the lookalike under an app of its own. */
async function pages(user: string): Promise<string> {
  const headers = { authorization: `Bearer ${token(user, 'the-test')}` };
  const answer = await fetch(`${stack.upstream('graph')}/v1.0/me/onenote/pages`, { headers });
  const { value } = (await answer.json()) as { value: { id: string }[] };
  return value.map((page) => page.id).join(',');
}

function startRedis(port: number): ChildProcess {
  const quiet = ['--save', '', '--appendonly', 'no', '--dir', stack.folder, '--bind', '127.0.0.1'];
  return spawn('redis-server', ['--port', String(port), ...quiet], { stdio: 'ignore' });
}
