/**
 * What an application does with Microsoft's client for JavaScript: lists, pages through, reads, batches and writes.
 * Only its configuration knows of Spillway.
 */
// docs: configure
import {
  BatchRequestContent,
  BatchResponseContent,
  Client,
  PageIterator,
  ResponseType,
} from '@microsoft/microsoft-graph-client';

// The gateway, and the upstream's name.
const graph = process.env.GRAPH_URL ?? 'https://spillway.example/graph';

const client = Client.init({
  baseUrl: `${graph}/`,
  // Without this, the client sends no Authorization to hosts that are not Microsoft's. No port, no scheme.
  customHosts: new Set([new URL(graph).hostname]),
  authProvider: (done) => done(null, process.env.GRAPH_TOKEN ?? ''),
  // A Spillway token; not needed from a client network.
  fetchOptions: { headers: { 'Spillway-Token': process.env.SPILLWAY_TOKEN ?? '' } },
});
// docs: end

import { inParallel, report } from '../support/program.ts';

interface Item {
  id: string;
  title?: string;
  displayName?: string;
}

// docs: call
async function pagesOf(path: string): Promise<Item[]> {
  const pages: Item[] = [];
  const first = await client.api(path).select('id,title').get();
  const iterator = new PageIterator(client, first, (page) => {
    pages.push(page);
    return true;
  });
  await iterator.iterate();
  return pages;
}

async function contentOf(page: string): Promise<string> {
  return client.api(`/me/onenote/pages/${page}/content`).responseType(ResponseType.TEXT).get();
}

/** The titles of at most 20 pages, by one request. */
async function titlesOf(pages: string[]): Promise<(string | undefined)[]> {
  const steps = pages.map((page, index) => ({
    id: String(index),
    request: new Request(`https://graph.microsoft.com/me/onenote/pages/${page}?$select=id,title`),
  }));
  const batch = await new BatchRequestContent(steps).getContent();
  const answers = new BatchResponseContent(await client.api('/$batch').post(batch));
  const title = async (answer: Response) => ((await answer.json()) as Item).title;
  return Promise.all(steps.map((step) => title(answers.getResponseById(step.id))));
}

async function write(section: string, title: string, text: string): Promise<Item> {
  const html = `<html><head><title>${title}</title></head><body><p>${text}</p></body></html>`;
  return client.api(`/me/onenote/sections/${section}/pages`).header('Content-Type', 'text/html').post(html);
}
// docs: end

const notebooks: Item[] = (await client.api('/me/onenote/notebooks').get()).value;
const sections: Item[] = (await client.api('/me/onenote/sections').get()).value;
const pages = await pagesOf('/me/onenote/pages');
const wanted = pages.slice(0, Number(process.env.CONTENTS)).map((page) => page.id);
const contents = await inParallel(16, wanted, contentOf);
const batched = await titlesOf(wanted.slice(0, 20));
const made = await write(sections[0].id, 'Written', 'by JavaScript');
await client.api(`/me/onenote/pages/${made.id}/content`).patch([
  { target: 'body', action: 'append', content: '<p>and changed</p>' },
]);

report({
  notebooks: notebooks.length,
  sections: sections.length,
  pages: pages.map((page) => page.id),
  titles: pages.slice(0, 20).map((page) => page.title),
  contents: contents.filter((html) => html.includes('data-absolute-enabled')).length,
  batched,
  written: await contentOf(made.id),
});
