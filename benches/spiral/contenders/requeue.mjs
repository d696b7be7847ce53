import { Pool } from './pool.mjs';

/** How long a throttled page stays away from the queue, where nothing says how long to wait. */
const DELAY_MS = 30_000;

/** A job queue that knows no limits: as many workers as the API allows calls at once, and a 429 is queued again. */
export function requeue({ workers, read, done }) {
  const pool = new Pool(workers, async (page) => {
    const answer = await read(page);
    if (answer.ok) done(page);
    else pool.pushLater(page, DELAY_MS);
  });
  return (page) => pool.push(page);
}
