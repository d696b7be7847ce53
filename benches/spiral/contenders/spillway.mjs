import { Pool } from './pool.mjs';

/** How soon a call is tried again that met no gateway, or one that was shutting down. */
const RECONNECT_MS = 1_000;

/**
 * The queue of `requeue.mjs`, with another base URL: it knows no limits, and a 429 is queued again for as long as its
 * Retry-After says.
 */
export function spillway({ workers, read, done }) {
  const pool = new Pool(workers, async (page) => {
    const answer = await read(page);
    if (answer.ok) done(page);
    else if (answer.status === 429) pool.pushLater(page, answer.retryAfterMs);
    else pool.pushLater(page, RECONNECT_MS);
  });
  return (page) => pool.push(page);
}

/** A loop instead of a queue: each worker waits with its page until it is told to come back. */
export function patient({ workers, read, done }) {
  const pool = new Pool(workers, async (page) => {
    for (;;) {
      const answer = await read(page);
      if (answer.ok) return done(page);
      const wait = answer.status === 429 ? answer.retryAfterMs : RECONNECT_MS;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  });
  return (page) => pool.push(page);
}
