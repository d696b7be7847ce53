/**
 * What an application does with Notion's own client: searches, pages through, reads, writes. Only its configuration
 * knows of Spillway.
 */
// docs: configure
import { Client, collectPaginatedAPI } from '@notionhq/client';

const notion = new Client({
  auth: process.env.NOTION_TOKEN,
  // The gateway and the upstream's name, without a slash at the end: the client adds /v1/.
  baseUrl: process.env.NOTION_URL ?? 'https://spillway.example/notion',
  // A Spillway token. The client takes no headers, but a fetch; not needed from a client network.
  fetch: (url, init) => {
    const headers = { ...init?.headers, 'Spillway-Token': process.env.SPILLWAY_TOKEN ?? '' };
    return fetch(url, { ...init, headers } as RequestInit);
  },
});
// docs: end

import { report } from '../support/program.ts';

// docs: call
const found = await collectPaginatedAPI(notion.search, { query: 'Home' });
const blocks = await collectPaginatedAPI(notion.blocks.children.list, { block_id: found[0].id, page_size: 25 });

const page = await notion.pages.create({
  parent: { page_id: found[0].id },
  properties: { title: { title: [{ text: { content: 'Written' } }] } },
  children: paragraphs(100),
});
// More than Notion takes at once: 100 blocks a request.
for (let part = 0; part < 3; part++) {
  await notion.blocks.children.append({ block_id: page.id, children: paragraphs(100) });
}
// docs: end

function paragraphs(count: number) {
  const line = (n: number) => ({ paragraph: { rich_text: [{ text: { content: `Line ${n}` } }] } });
  return Array.from({ length: count }, (_, n) => line(n));
}

const first = blocks[0].id;
await notion.blocks.update({
  block_id: first,
  paragraph: { rich_text: [{ text: { content: process.env.CHANGED ?? '' } }] },
});
const written = await collectPaginatedAPI(notion.blocks.children.list, { block_id: page.id });
const readings = await Promise.all(written.slice(0, 8).map((block) => notion.blocks.retrieve({ block_id: block.id })));
await notion.blocks.delete({ block_id: written[0].id });

report({
  bot: (await notion.users.me({})).type,
  blocks: blocks.map((block) => block.id),
  written: written.map((block) => block.id),
  read: readings.length,
  changed: await notion.blocks.retrieve({ block_id: first }),
  left: (await collectPaginatedAPI(notion.blocks.children.list, { block_id: page.id })).length,
});
