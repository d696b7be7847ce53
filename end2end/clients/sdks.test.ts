/**
 * Other people's clients, unmodified, through the gateway over TLS, under limits that they reach: no error reaches
 * them, none repeats a call more than once, and the upstream rejects nothing.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Seen, Stack, type Stats } from './support/stack.ts';

let stack: Stack;
before(async () => (stack = await Stack.start()));
after(() => stack?.stop());

const notion = ['node', '--import', './clients/support/observe.mjs', 'clients/programs/notion.ts'];

/** Each thing once, and as many as there are. */
function assertComplete(ids: string[], expected: number): void {
  assert.equal(new Set(ids).size, ids.length, 'nothing is seen twice');
  assert.equal(ids.length, expected, 'nothing is missing');
}

/** That nobody had to try more than twice, whoever counts. */
function assertPatient(seen: Seen[]): void {
  assert.ok(seen.length > 0, 'the observer saw nothing');
  const most = Math.max(...seen.map((request) => request.attempt));
  assert.ok(most <= 1, `a call was repeated ${most} times`);
}

function assertNoneRejected(stats: Stats): void {
  assert.equal(stats.rejected, 0, JSON.stringify(stats.budgets));
  const layers = stats.budgets.flatMap((budget) => budget.layers);
  for (const layer of layers) assert.ok(layer.peak <= layer.limit, JSON.stringify(layer));
}

/** That a client never saw a limit, though it would have gone beyond it. */
function assertHeld(seen: Seen[]): void {
  assertPatient(seen);
  const errors = seen.filter((request) => request.status >= 400);
  assert.deepEqual(errors, [], 'held calls see no error');
}

test("Notion's searches, pages, reads and writes", async () => {
  const { results, seen } = await stack.run(notion, { NOTION_TOKEN: 'ntn_importer', CHANGED: 'by JavaScript' });
  assertComplete(results.blocks, 130);
  assertComplete(results.written, 400);
  assert.equal(results.left, 399);
  assert.equal(results.changed.paragraph.rich_text[0].plain_text, 'by JavaScript');
  assertHeld(seen);
  const stats = await stack.referee('notion');
  assertNoneRejected(stats);
  assert.equal(stats.budgets[0].layers[0].peak, 3, 'it called as fast as may be');
});
