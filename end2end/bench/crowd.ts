/**
 * How soon the page of a workload answers that has 100,000 users: `npm run crowd` in end2end, with SPILLWAY_BIN the
 * binary to measure. Each user holds a permit, taken a hundred at a time; then each question is asked so often that a
 * median says something. Prints a table for docs/BENCHMARKS.md.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const USERS = 100_000;
const AT_ONCE = 100;
const ASKED = 21;
const DASHBOARD = 'http://127.0.0.1:3980';
const binary = process.env.SPILLWAY_BIN ?? '../target/release/spillway';

const QUESTIONS = {
  'the first 50, most trouble first': '',
  'those out of quota: nobody': '?show=stopped',
  'one by name': '?find=user99999',
  'a tenant with 2,000, by name': '?find=tenant7.',
};

/** Limits that let everybody in. */
function configuration(folder: string): string {
  return `
[server]
listen = "127.0.0.1:3980"
gateway_listen = "127.0.0.1:3981"
database_url = "sqlite://${join(folder, 'spillway.db')}"
state_dir = "${folder}"
max_users = 200000

[upstreams.graph]
base_url = "http://127.0.0.1:9/"
app = "house"

[[upstreams.graph.workloads]]
name = "pages"
paths = ["/v1.0/**"]
layers = [
  { scope = "user", dimension = "rate", window_ms = 3600000, limit = 10 },
  { scope = "user", dimension = "rate", window_ms = 60000, limit = 8 },
  { scope = "user", dimension = "concurrency", limit = 9 },
  { scope = "app", dimension = "concurrency", limit = 1000000 },
]
`;
}

async function ready(server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    const answers = await fetch(`${DASHBOARD}/readyz`).then((answer) => answer.ok, () => false);
    if (answers) return;
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function fill(): Promise<void> {
  for (let first = 0; first < USERS; first += AT_ONCE) {
    const wanted = Array.from({ length: AT_ONCE }, (_, n) => {
      const tenant = `tenant${(first + n) % 50}.example`;
      return { upstream: 'graph', workload: 'pages', tenant, user: `user${first + n}@${tenant}` };
    });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${DASHBOARD}/api/v1/permits`, { method: 'POST', headers, body: JSON.stringify(wanted) });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

/** Milliseconds until the whole page has come, in order. */
async function asked(query: string): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < ASKED; n++) {
    const begun = performance.now();
    const page = await (await fetch(`${DASHBOARD}/workloads/graph/pages${query}`)).text();
    took.push(performance.now() - begun);
    if (!page.includes('100,000 users')) throw new Error('not everybody is there');
  }
  return took.sort((a, b) => a - b);
}

const folder = await mkdtemp(join(tmpdir(), 'spillway-crowd-'));
await writeFile(join(folder, 'spillway.toml'), configuration(folder));
const server = spawn(binary, ['serve', '--config', join(folder, 'spillway.toml'), '--open'], { stdio: 'ignore' });
try {
  await ready(server);
  await fill();
  console.log('| 100,000 users, the page of their workload | median ms | longest ms |\n|---|---|---|');
  for (const [question, query] of Object.entries(QUESTIONS)) {
    const took = await asked(query);
    console.log(`| ${question} | ${took[Math.floor(ASKED / 2)].toFixed(0)} | ${took[ASKED - 1].toFixed(0)} |`);
  }
} finally {
  server.kill();
  await new Promise((done) => server.once('close', done));
  await rm(folder, { recursive: true, force: true });
}
