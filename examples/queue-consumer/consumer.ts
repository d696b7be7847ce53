/**
 * A consumer of a BullMQ queue under Spillway's limits: a job for which there is no room goes back into the queue until
 * there is, without spending one of its attempts. No worker sleeps while it waits.
 */
import { DelayedError, type Job, Worker, type WorkerOptions } from 'bullmq';

export interface Options {
  /** Where Spillway's API is: `https://spillway.example`. */
  server: string;
  /** A token with the scope `permits`; none from a server that is open. */
  token?: string;
  upstream: string;
  workload?: string;
}

/** What each job has to tell; more may be there. */
export interface Data {
  /** Whose budget the job's call is charged to. */
  user: string;
}

/** Makes the job's one call to the upstream, and reads its answer to the end. */
export type Call<D extends Data, R> = (job: Job<D>) => Promise<{ answer: Response; result: R }>;

/** A worker that calls only when Spillway has room. */
export function limitedWorker<D extends Data, R>(
  queue: string,
  options: Options,
  call: Call<D, R>,
  worker: WorkerOptions,
): Worker<D, R> {
  return new Worker<D, R>(queue, (job, token) => process(job, token, options, call), worker);
}

async function process<D extends Data, R>(
  job: Job<D>,
  token: string | undefined,
  options: Options,
  call: Call<D, R>,
): Promise<R> {
  const { upstream, workload } = options;
  const wanted = { upstream, workload, user: job.data.user, lane: 'background', wait_ms: 0 };
  const asked = await post(options, '', wanted);
  const said = await asked.json();
  if (asked.status === 429) {
    await job.moveToDelayed(Date.now() + said.retry_after_ms, token);
    // Tells BullMQ that the job is neither done nor failed.
    throw new DelayedError();
  }
  if (!asked.ok) throw new Error(`Spillway answers ${asked.status}: ${said.detail ?? said.title}`);
  // Where this fails, the upstream may be at work all the same: the permit stays taken until it expires.
  const { answer, result } = await call(job);
  const headers = Object.fromEntries(answer.headers);
  delete headers['set-cookie'];
  const completed = await post(options, `/${said.id}/complete`, { status: answer.status, headers });
  await completed.body?.cancel();
  // Only what is wrong with the call itself spends an attempt.
  if (!answer.ok) throw new Error(`the upstream answers ${answer.status}`);
  return result;
}

function post(options: Options, path: string, body: object): Promise<Response> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (options.token) headers.Authorization = `Bearer ${options.token}`;
  return fetch(`${options.server}/api/v1/permits${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}
