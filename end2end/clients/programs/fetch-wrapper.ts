/** A program with a `fetch` of its own (examples/fetch-wrapper), which calls the upstream itself. */
// docs: use
import { spillwayFetch } from '../../../examples/fetch-wrapper/spillway.ts';

const limited = spillwayFetch({
  server: process.env.SPILLWAY_URL ?? 'https://spillway.example',
  token: process.env.SPILLWAY_TOKEN,
  upstream: 'graph',
  workload: 'onenote',
  user: process.env.USER_KEY ?? 'u1',
  lane: 'background',
});
// docs: end

import { inParallel, report } from '../support/program.ts';

const upstream = process.env.UPSTREAM_URL;
const headers = { authorization: `Bearer ${process.env.GRAPH_TOKEN}` };

async function get(path: string) {
  const answer = await limited(`${upstream}/v1.0/me/onenote/${path}`, { headers });
  return { status: answer.status, text: await answer.text() };
}

const { value } = JSON.parse((await get('pages?$top=100&$select=id')).text);
const pages: string[] = value.map((page: { id: string }) => `pages/${page.id}/content`);
const contents = await inParallel(16, pages, get);
const missing = await get('pages/1-none');

// One that is given up in the middle of its answer.
const given = spillwayFetch({
  server: process.env.SPILLWAY_URL ?? '',
  token: process.env.SPILLWAY_TOKEN,
  upstream: 'graph',
  workload: 'onenote',
  user: `${process.env.USER_KEY}-gives-up`,
});
const large = await given(`${upstream}/v1.0/me/onenote/resources/large-10000000/$value`, { headers });
await large.body?.cancel();
report({ statuses: contents.map((answer) => answer.status), missing: missing.status });
