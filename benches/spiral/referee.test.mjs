import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, earliest } from './referee.mjs';

const HOUR_MS = 3_600_000;
const limits = { minute: 60, hour: 200 };

test('1,300 pages at 200 an hour and 60 a minute take six hours and a minute', () => {
  const at = earliest(Array(1_300).fill(0), limits);
  assert.equal(at.at(-1), 6 * HOUR_MS + 60_000);
});

test('no window of any phase holds more than its limit, and each holds as much as it may', () => {
  const at = earliest(Array(1_300).fill(0), limits);
  const most = (window_ms) => Math.max(...at.map((end) => at.filter((t) => t > end - window_ms && t <= end).length));
  assert.deepEqual([most(60_000), most(HOUR_MS)], [60, 200]);
});

test('idle time counts for nobody, and a page that was not read for ever', () => {
  const pages = [0, 0, 10_000].map((arrives_ms) => ({ arrives_ms }));
  const one = { minute: 1, hour: 200 };
  assert.deepEqual(compare(pages, [0, 90_000, 120_000], one), { took_ms: 200_000, minimum_ms: 60_000 + 110_000 });
  assert.equal(compare(pages, [0, 90_000, undefined], one).took_ms, Infinity);
});
