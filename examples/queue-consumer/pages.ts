/** Reads OneNote pages by a queue of jobs. Each has a single attempt, so that none may be spent in vain. */
// docs: use
import { type Job, Queue } from 'bullmq';
import { limitedWorker } from './consumer.ts';

interface Page {
  user: string;
  page: string;
}

const spillway = {
  server: process.env.SPILLWAY_URL ?? 'https://spillway.example',
  token: process.env.SPILLWAY_TOKEN,
  upstream: 'graph',
  workload: 'onenote',
};
const connection = { port: Number(process.env.REDIS_PORT ?? 6379) };

const worker = limitedWorker<Page, number>('pages', spillway, read, { connection, concurrency: 16, autorun: false });
// docs: end

const onenote = `${process.env.UPSTREAM_URL}/v1.0/me/onenote`;
const headers = { authorization: `Bearer ${process.env.GRAPH_TOKEN}` };

async function read(job: Job<Page>) {
  const answer = await fetch(`${onenote}/pages/${job.data.page}/content`, { headers });
  return { answer, result: (await answer.text()).length };
}

const jobs = Number(process.env.JOBS);
const user = process.env.USER_KEY ?? 'u1';
const done: Job<Page>[] = [];
const failed: string[] = [];
let ended: () => void;
const allEnded = new Promise<void>((resolve) => (ended = resolve));
const count = () => void (done.length + failed.length === jobs && ended());
worker.on('completed', (job) => (done.push(job), count()));
worker.on('failed', (job, error) => (failed.push(`${job?.id}: ${error.message}`), count()));

const queue = new Queue<Page>('pages', { connection });
const pages = process.env.PAGES?.split(',') ?? [];
const data = Array.from({ length: jobs }, (_, n) => ({ user, page: pages[n % pages.length] }));
await queue.addBulk(data.map((job) => ({ name: 'read', data: job, opts: { attempts: 1 } })));
void worker.run();
await allEnded;
await worker.close();
await queue.close();
console.log(JSON.stringify({
  done: done.length,
  failed,
  attempts: done.map((job) => job.attemptsMade),
  /** How often jobs were begun, those put back included. */
  begun: done.reduce((sum, job) => sum + job.attemptsStarted, 0),
}));
