import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from './pool.mjs';

/**
 * The waits before the retries that Microsoft's JavaScript SDK (RetryHandler of microsoft-graph-client 3.0.7) makes
 * where a 429 has no Retry-After, as OneNote's have not: three, and a random part of a second each.
 */
const RETRY_DELAYS_MS = [3_000, 5_000, 7_000];

/** A program that trusts its SDK: what still fails after the SDK's retries is reported, and gone. */
export function sdk({ workers, read, done, lost }) {
  const pool = new Pool(workers, async (page) => {
    for (const delay of [0, ...RETRY_DELAYS_MS]) {
      if (delay > 0) await sleep(delay + Math.random() * 1_000);
      if ((await read(page)).ok) return done(page);
    }
    lost(page);
  });
  return (page) => pool.push(page);
}
