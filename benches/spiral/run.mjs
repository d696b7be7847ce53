/** One run: one contender, one upstream of its own, and the score. */
import { fileURLToPath } from 'node:url';
import { Child } from './processes.mjs';
import { compare } from './referee.mjs';
import { AUTHORIZATION } from './upstream.mjs';

const CONTENDER = fileURLToPath(new URL('contender.mjs', import.meta.url));

export class Run {
  #children = [];
  #settled = new Map();
  #end;
  #fail;

  /**
   * @param {Variant} variant what is run (variants.mjs)
   * @param {{time: FastTime, upstream: Upstream, paths: string[]}} world where
   * @param {string} base_url where its calls go: the upstream itself, or a gateway
   */
  constructor(variant, { time, upstream, paths }, base_url) {
    Object.assign(this, { variant, time, upstream, base_url });
    this.pages = variant.bursts.flatMap(({ at_ms, pages }) => Array(pages).fill(at_ms));
    this.pages = this.pages.map((arrives_ms, number) => ({ number, arrives_ms, path: paths[number % paths.length] }));
    this.calls = { sent: 0, throttled: 0, broken: 0 };
    this.over = new Promise((resolve, reject) => ([this.#end, this.#fail] = [resolve, reject]));
  }

  /** Runs to its end, or to where it is stopped, and says what came of it. */
  async score() {
    const { processes, stop_after_ms } = this.variant;
    const shares = Array.from({ length: processes }, (_, n) => this.pages.filter(({ number }) => number % processes === n));
    await Promise.all(shares.map((pages) => this.#spawn(pages)));
    this.began_ms = this.time.now();
    this.#children.forEach((child) => this.#go(child));
    await Promise.race([this.over, this.time.sleep(stop_after_ms)]);
    this.stopped = true;
    const stopped_ms = this.time.now() - this.began_ms;
    const stats = await this.upstream.stats();
    await Promise.all(this.#children.map((child) => child.stop('SIGKILL')));
    return this.#result(stats, stopped_ms);
  }

  async #spawn(pages) {
    const child = new Child(process.execPath, [CONTENDER], this.time.environment());
    child.write(`${JSON.stringify(this.#job(pages))}\n`);
    child.pages = pages;
    this.#children.push(child);
    const ready = new Promise((resolve, reject) => {
      child.onLine((line) => this.#hear(JSON.parse(line), resolve));
      child.ended.then(() => reject(new Error(`a contender did not start: ${child.errors}`)));
    });
    await ready;
    child.ended.then(() => this.#ended(child));
    return child;
  }

  /** A contender begins when it is told how old the run is. */
  #go(child) {
    child.write(`${this.time.now() - this.began_ms}\n`);
  }

  /** What a contender is told; its limits are the published ones, whatever share it may use. */
  #job(pages) {
    const { contender, headers } = this.variant;
    return {
      contender,
      base_url: this.base_url,
      headers: { authorization: AUTHORIZATION, ...headers },
      limits: { minute: 120, hour: 400, concurrent: 5 },
      pages,
    };
  }

  /** Whoever ends by itself has to be through with its pages. */
  #ended(child) {
    const left = child.pages.some(({ number }) => !this.#settled.has(number));
    if (left && this.#children.includes(child) && !this.stopped) this.#fail(new Error(`a contender ended: ${child.errors}`));
  }

  #hear(line, ready) {
    if (line.ready) ready();
    if (line.calls) for (const kind of Object.keys(this.calls)) this.calls[kind] += line.calls[kind];
    if (line.page === undefined) return;
    this.#settled.set(line.page, line);
    if (this.#settled.size === this.pages.length) this.#end();
  }

  /**
   * Ends the contender's processes with a signal and starts them anew. Their queues are remembered, as a job's is in its
   * database; what their limiters counted is not.
   */
  async restart(signal) {
    const ended = this.#children.splice(0);
    await Promise.all(ended.map((child) => child.stop(signal)));
    for (const { pages } of ended) {
      const left = pages.filter(({ number }) => !this.#settled.has(number));
      if (left.length === 0) continue;
      this.#go(await this.#spawn(left));
    }
  }

  #result(stats, stopped_ms) {
    const lines = this.pages.map(({ number }) => this.#settled.get(number));
    const done_ms = lines.map((line) => (line?.done ? line.at_ms : undefined));
    const user = stats.budgets.find(({ scope }) => scope === 'user');
    return {
      variant: this.variant,
      pages: this.pages.length,
      done: done_ms.filter((at) => at !== undefined).length,
      lost: lines.filter((line) => line && !line.done).length,
      sent: stats.arrived,
      rejected: stats.rejected,
      peaks: user?.layers.map(({ peak }) => peak) ?? [],
      calls: this.calls,
      stopped_ms,
      ...compare(this.pages, done_ms, this.variant.limits),
    };
  }
}
