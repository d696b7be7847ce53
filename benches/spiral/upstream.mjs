/** The upstream: `spillway simulate`, a lookalike of OneNote that enforces the real limits and keeps the score. */
import { get } from './http.mjs';
import { Child, freePort, untilReady } from './processes.mjs';

/** What every lookalike is made of: with one seed all have the same pages, and windows of the same phases. */
const SEED = 1;

/** Whose notebooks are read. */
const CLAIMS = { oid: 'ana', tid: 'contoso', appid: 'note-bridge' };

const part = (json) => Buffer.from(JSON.stringify(json)).toString('base64url');

/** As Microsoft's access tokens name user, tenant and app. */
export const AUTHORIZATION = `Bearer ${part({ alg: 'none' })}.${part(CLAIMS)}.`;

export class Upstream {
  /**
   * @param {string} program the path of `spillway`
   * @param {{scale: number, windows?: string, rejected?: string}} settings as its command line knows them
   */
  static async start(program, { scale, windows = 'fixed', rejected = 'count' }) {
    const upstream = new Upstream();
    const address = `127.0.0.1:${await freePort()}`;
    upstream.base_url = `http://${address}`;
    upstream.child = new Child(program, [
      ...['simulate', '--log', 'warn', '--listen', address, '--time-scale', `${scale}`, '--seed', `${SEED}`],
      ...['--windows', windows, '--rejected', rejected],
    ]);
    await untilReady(upstream.child, async () => (await get(`${upstream.base_url}/_sim/stats`)).status === 200);
    return upstream;
  }

  /** The score: `arrived` and `rejected` calls, and for each budget how close to each limit it came. */
  async stats() {
    return JSON.parse((await get(`${this.base_url}/_sim/stats`)).body);
  }

  stop() {
    return this.child.stop();
  }
}

/** The paths of all of the user's pages, found with a lookalike of its own so that nobody pays for the search. */
export async function pagePaths(program) {
  const upstream = await Upstream.start(program, { scale: 10_000 });
  const paths = [];
  const list = `${upstream.base_url}/v1.0/me/onenote/pages?$select=id&$top=100`;
  for (;;) {
    const answer = await get(`${list}&$skip=${paths.length}`, { authorization: AUTHORIZATION });
    const pages = JSON.parse(answer.body).value;
    paths.push(...pages.map(({ id }) => `/v1.0/me/onenote/pages/${id}/content`));
    if (pages.length === 0) break;
  }
  await upstream.stop();
  return paths;
}
