/**
 * Other people's clients, unmodified, through the gateway over TLS, under limits that they reach: no error reaches
 * them, none repeats a call more than once, and the upstream rejects nothing.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Outcome, type Seen, Stack, type Stats, token } from './support/stack.ts';

/** More than OneNote lets one user call in a minute. */
const CONTENTS = '130';

let stack: Stack;
before(async () => (stack = await Stack.start(5)));
after(() => stack?.stop());

const javaScript = ['node', '--import', './clients/support/observe.mjs', 'clients/programs/graph.ts'];
const python = ['python/venv/bin/python', 'clients/programs/graph.py'];
const notion = ['node', '--import', './clients/support/observe.mjs', 'clients/programs/notion.ts'];
const curl = ['bash', 'clients/programs/graph.sh'];

function graph(command: string[], user: string, env: Record<string, string> = {}): Promise<Outcome> {
  return stack.run(command, { GRAPH_TOKEN: token(user), CONTENTS, ...env });
}

/** Each thing once, and as many as there are. */
function assertComplete(ids: string[], expected: number): void {
  assert.equal(new Set(ids).size, ids.length, 'nothing is seen twice');
  assert.equal(ids.length, expected, 'nothing is missing');
}

async function pagesOf(user: string): Promise<number> {
  // Asked of the lookalike itself, under an app of its own, so that it costs the clients nothing.
  const headers = { authorization: `Bearer ${token(user, 'the-test')}` };
  const url = `${stack.upstream('graph')}/v1.0/me/onenote/pages?$count=true&$top=1`;
  return (await (await fetch(url, { headers })).json())['@odata.count'];
}

function assertWorked({ results }: Outcome, pages: number): void {
  assertComplete(results.pages, pages);
  assert.equal(results.contents, Number(CONTENTS));
  assert.deepEqual(results.batched, results.titles);
  assert.match(results.written, /by (JavaScript|Python)[\s\S]*and changed/);
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

describe('clients that are held', { concurrency: true }, () => {
  test("Graph's for JavaScript and Python list, page, read, batch and write", async () => {
    const pages = [await pagesOf('ann'), await pagesOf('bob')];
    const outcomes = await Promise.all([graph(javaScript, 'ann'), graph(python, 'bob')]);
    for (const [index, outcome] of outcomes.entries()) {
      assertWorked(outcome, pages[index]);
      assertHeld(outcome.seen);
    }
    const stats = await stack.referee('graph');
    assertNoneRejected(stats);
    for (const user of ['ann', 'bob']) {
      const budget = stats.budgets.find((b) => b.user === user && b.app === 'note-bridge');
      const [minute, , concurrent] = budget?.layers ?? [];
      assert.ok(minute.peak >= 100, `${user} came to ${minute.peak} calls a minute`);
      assert.equal(concurrent.peak, 5, `${user} called as much at once as may be`);
    }
  });

  for (const [who, env] of [
    ['with a token', {}],
    ['from a client network', { SPILLWAY_TOKEN: '' }],
  ] as const) {
    test(`Notion's, ${who}, searches, pages, reads and writes`, async () => {
      const { results, seen } = await stack.run(notion, { NOTION_TOKEN: `ntn_${who}`, ...env });
      assertComplete(results.blocks, 130);
      assertComplete(results.written, 400);
      assert.equal(results.left, 399);
      assert.equal(results.changed.paragraph.rich_text[0].plain_text, 'Changed');
      assertHeld(seen);
      const stats = await stack.referee('notion');
      assertNoneRejected(stats);
      assert.ok(stats.budgets.some((budget) => budget.layers[0].peak === 3), 'it called as fast as may be');
    });
  }

  test('curl pages through and writes', async () => {
    const pages = await pagesOf('eve');
    const { output } = await graph(curl, 'eve');
    const lines = output.trim().split('\n');
    assert.equal(lines.pop(), 'written Written');
    assertComplete(lines, pages);
  });
});

test('a client that is refused comes back once, as it is told', async () => {
  // An app of its own: the lookalike would count both upstreams' calls together, and the gateway does not.
  // Two windows' worth of calls.
  const contents = 75;
  const brief = (user: string) => ({
    GRAPH_URL: `${stack.gateway}/graph-brief`,
    GRAPH_TOKEN: token(user, 'brief-bridge'),
    CONTENTS: String(contents),
  });
  const outcomes = await Promise.all([
    graph(javaScript, 'cas', brief('cas')),
    graph(python, 'dot', brief('dot')),
  ]);
  for (const outcome of outcomes) {
    assert.equal(outcome.results.contents, contents);
    assertPatient(outcome.seen);
    const refused = outcome.seen.filter((request) => request.status === 429);
    assert.ok(refused.length > 0, 'none was refused');
    for (const { told, blockedBy } of refused) {
      assert.match(told ?? '', /^[1-9][0-9]*$/);
      assert.match(blockedBy ?? '', /^(user|app)\/(rate\/|concurrency)/);
    }
  }
  assertNoneRejected(await stack.referee('graph'));
});
