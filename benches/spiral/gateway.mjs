/** `spillway serve --open`, as shipped, in fast time. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get } from './http.mjs';
import { Child, freePort, untilReady } from './processes.mjs';

/** How often it is started until it is given up. */
const ATTEMPTS_MAX = 5;

/** OneNote's limits of the preset, all of which the background may use. */
const WHOLE_SHARE = `
[[upstreams.NAME.workloads]]
name = "onenote-whole"
paths = ["/v1.0/me/onenote/**"]
background_share_permille = 1000
layers = [
  { scope = "user", dimension = "rate", window_ms = 60000, limit = 120 },
  { scope = "user", dimension = "rate", window_ms = 3600000, limit = 400 },
  { scope = "user", dimension = "concurrency", limit = 5 },
  { scope = "app", dimension = "rate", window_ms = 60000, limit = 240 },
  { scope = "app", dimension = "rate", window_ms = 3600000, limit = 800 },
  { scope = "app", dimension = "concurrency", limit = 20 },
]
`;

export class Gateway {
  #program;
  #time;
  #child;

  /**
   * @param {string} program the path of `spillway`
   * @param {FastTime} time the time it lives in
   * @param {{name: string, base_url: string, whole: boolean}[]} upstreams `whole`: the background may use all
   */
  static async start(program, time, upstreams) {
    const gateway = new Gateway();
    gateway.#program = program;
    gateway.#time = time;
    gateway.folder = await mkdtemp(join(tmpdir(), 'spillway-spiral-'));
    gateway.config = join(gateway.folder, 'spillway.toml');
    const [listen, gateway_listen] = [await freePort(), await freePort()];
    gateway.base_url = `http://127.0.0.1:${gateway_listen}`;
    gateway.health_url = `http://127.0.0.1:${listen}/readyz`;
    await writeFile(gateway.config, configuration(gateway.folder, listen, gateway_listen, upstreams));
    await gateway.#run();
    return gateway;
  }

  /**
   * Starts it as a supervisor does, again where it fails: what it allows its database to take is a quarter of a second of
   * the wall's in fast time, which a busy machine may need for something else.
   */
  async #run() {
    for (let attempt = 1; ; attempt += 1) {
      const args = ['serve', '--open', '--config', this.config, '--log', 'error'];
      this.#child = new Child(this.#program, args, this.#time.environment());
      try {
        return await untilReady(this.#child, async () => (await get(this.health_url)).status === 200);
      } catch (error) {
        await this.#child.stop('SIGKILL');
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Ends it with a signal, in the middle of whatever it does, and starts it on the same files. */
  async restart(signal) {
    await this.#child.stop(signal);
    await this.#run();
  }

  async stop() {
    await this.#child.stop();
    await rm(this.folder, { recursive: true });
  }
}

function configuration(folder, listen, gateway_listen, upstreams) {
  const server = `[server]
listen = "127.0.0.1:${listen}"
gateway_listen = "127.0.0.1:${gateway_listen}"
database_url = "sqlite://${join(folder, 'spillway.db')}"
state_dir = "${join(folder, 'state')}"
`;
  const sections = upstreams.map(({ name, base_url, whole }) => {
    const limits = whole ? WHOLE_SHARE.replace('NAME', name) : 'presets = ["onenote"]\n';
    return `[upstreams.${name}]\nbase_url = "${base_url}/"\n${limits}`;
  });
  return [server, ...sections].join('\n');
}
