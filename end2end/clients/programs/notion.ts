/**
 * What an application does with Notion's own client: searches, pages through, reads, writes. Only its configuration
 * knows of Spillway.
 */
// docs: configure
import { Client, collectPaginatedAPI } from '@notionhq/client';

const options = {
  auth: process.env.NOTION_TOKEN,
  // The gateway and the upstream's name, without a slash at the end: the client adds /v1/.
  baseUrl: process.env.NOTION_URL ?? 'https://spillway.example/notion',
};

/** From a client network: nothing else. */
const neighbour = () => new Client(options);

/** With a Spillway token: the client takes no headers, but a fetch. */
const holder = (token: string) =>
  new Client({
    ...options,
    fetch: (url, init) => {
      const headers = { ...init?.headers, 'Spillway-Token': token };
      return fetch(url, { ...init, headers } as RequestInit);
    },
  });
// docs: end

import { isFullBlock } from '@notionhq/client';
import { report } from '../support/program.ts';

const notion = process.env.SPILLWAY_TOKEN ? holder(process.env.SPILLWAY_TOKEN) : neighbour();

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

const written = await collectPaginatedAPI(notion.blocks.children.list, { block_id: page.id });
const changed = await notion.blocks.update({
  block_id: written[1].id,
  paragraph: { rich_text: [{ text: { content: 'Changed' } }] },
});
const readings = await Promise.all(written.slice(0, 8).map((block) => notion.blocks.retrieve({ block_id: block.id })));
await notion.blocks.delete({ block_id: written[0].id });

report({
  bot: (await notion.users.me({})).type,
  // Pages that others make beside them are children too.
  blocks: blocks.filter((block) => isFullBlock(block) && block.type === 'paragraph').map((block) => block.id),
  written: written.map((block) => block.id),
  read: readings.length,
  changed: await notion.blocks.retrieve({ block_id: changed.id }),
  left: (await collectPaginatedAPI(notion.blocks.children.list, { block_id: page.id })).length,
});
