/**
 * `fetch` under Spillway's limits, for programs that call the upstream themselves: takes a permit, makes the call, and
 * says how it ended. No dependencies; Node 18, Deno, Bun or a browser.
 *
 * One permit is one request on the wire, so redirects are not followed.
 */

export interface Options {
  /** Where Spillway's API is: `https://spillway.example`. */
  server: string;
  /** A token with the scope `permits`; none from a server that is open. */
  token?: string;
  upstream: string;
  /** Needed where the upstream has several. */
  workload?: string;
  /** Whose budget. */
  user: string;
  tenant?: string;
  app?: string;
  lane?: 'foreground' | 'background';
  /** How long Spillway may hold each ask, in milliseconds: 10,000 if left out. */
  waitMs?: number;
  /** How long to go on asking in all, in milliseconds: five minutes if left out. */
  patienceMs?: number;
}

/** There is no room for the call within the caller's patience. Nothing was sent upstream. */
export class Throttled extends Error {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super(`no room for the call before ${retryAfterMs} ms have passed`);
    this.name = 'Throttled';
    this.retryAfterMs = retryAfterMs;
  }
}

interface Permit {
  id: string;
  ttl_ms: number;
}

/** Headers of an answer that speak of limits; others are nobody's business. */
const SPEAKS_OF_LIMITS = /^(retry-after|ratelimit.*|x-ms-throttle-.*|x-ms-resource-unit|x-ms-retry-after-ms)$/;

/** A `fetch` whose calls wait for their turn. */
export function spillwayFetch(options: Options): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, { ...init, redirect: 'manual' });
    const permit = await take(options, request.signal);
    const renewing = setInterval(() => void tell(options, `${permit.id}/renew`), permit.ttl_ms / 3);
    try {
      // Where this fails, the upstream may be at work all the same: the permit stays taken until it expires.
      const answer = await fetch(request);
      return watched(answer, () => complete(options, permit, answer), () => clearInterval(renewing));
    } catch (error) {
      clearInterval(renewing);
      throw error;
    }
  };
}

/** Asks until there is room, or until the patience is over. */
async function take(options: Options, signal: AbortSignal): Promise<Permit> {
  const { upstream, workload, user, tenant, app, lane, waitMs: wait_ms = 10_000 } = options;
  const until = Date.now() + (options.patienceMs ?? 300_000);
  for (;;) {
    const answer = await post(options, '', { upstream, workload, user, tenant, app, lane, wait_ms }, signal);
    const said = await answer.json();
    if (answer.ok) return said;
    if (answer.status !== 429) throw new Error(`Spillway answers ${answer.status}: ${said.detail ?? said.title}`);
    if (Date.now() + said.retry_after_ms > until) throw new Throttled(said.retry_after_ms);
    await new Promise((done) => setTimeout(done, said.retry_after_ms));
    signal.throwIfAborted();
  }
}

/** A call is over with its body, not with its headers. */
function watched(answer: Response, completed: () => Promise<void>, ended: () => void): Response {
  if (answer.body === null) {
    ended();
    void completed();
    return answer;
  }
  const reader = answer.body.getReader();
  let givenUp = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (givenUp) return;
        if (!done) return controller.enqueue(value);
        ended();
        await completed();
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    // Given up by the caller: it may still run upstream, and so its permit stays taken.
    cancel(reason) {
      givenUp = true;
      ended();
      return reader.cancel(reason);
    },
  });
  return new Response(body, answer);
}

async function complete(options: Options, permit: Permit, answer: Response): Promise<void> {
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => SPEAKS_OF_LIMITS.test(name)));
  await tell(options, `${permit.id}/complete`, { status: answer.status, headers });
}

/** News for Spillway. If they don't arrive, the permit expires by itself. */
async function tell(options: Options, path: string, body: object = {}): Promise<void> {
  await post(options, `/${path}`, body).then((answer) => answer.body?.cancel(), () => {});
}

function post(options: Options, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (options.token) headers.Authorization = `Bearer ${options.token}`;
  const url = `${options.server}/api/v1/permits${path}`;
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
}
