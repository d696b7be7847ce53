/**
 * Loaded before a program (`node --import`): notes each request that leaves it, and how it was answered. It changes
 * nothing.
 */
import { appendFileSync } from 'node:fs';

const send = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const request = new Request(input instanceof Request ? input.clone() : input, withoutBody(init));
  const answer = await send(input, init);
  const seen = {
    method: request.method,
    path: new URL(request.url).pathname,
    attempt: Number(request.headers.get('Retry-Attempt') ?? 0),
    status: answer.status,
    told: answer.headers.get('Retry-After'),
    blockedBy: answer.headers.get('Spillway-Blocked-By'),
  };
  appendFileSync(process.env.OBSERVED, `${JSON.stringify(seen)}\n`);
  return answer;
};

/** A body can be read once, and is the program's. */
function withoutBody(init) {
  return init && { method: init.method, headers: init.headers };
}
