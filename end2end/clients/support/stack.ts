/**
 * Gateway and lookalikes for the clients: two lookalikes, since Notion's limits bind within seconds, and OneNote's
 * only when its time runs faster.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { answers, binary, freePorts, Process } from '../../tests/support/process.ts';
import { type Certificates, makeCertificates } from './authority.ts';

/** How long a program may run. */
const PROGRAM_WITHIN_MS = 90_000;

/** One request as it left a program. */
export interface Seen {
  method: string;
  path: string;
  /** What Microsoft's clients count in `Retry-Attempt`. */
  attempt: number;
  status: number;
  told: string | null;
  blockedBy: string | null;
  version?: string;
}

export interface Layer {
  window_ms: number | null;
  limit: number;
  peak: number;
  rejected: number;
}

export interface Stats {
  arrived: number;
  rejected: number;
  budgets: { upstream: string; scope: string; app: string; user: string; layers: Layer[] }[];
}

interface State {
  upstreams: { workloads: { budgets: { user: string; layers: { dimension: string; used: number }[] }[] }[] }[];
}

export interface Outcome {
  /** What the program reported: the last line that it wrote, read as JSON. */
  results: any;
  output: string;
  seen: Seen[];
}

export class Stack {
  readonly folder: string;
  private readonly certificates: Certificates;
  private readonly ports: { dashboard: number; gateway: number; graph: number; notion: number };
  private readonly timeScale: number;
  private readonly processes: Process[] = [];
  /** A Spillway token, for programs that are in no client network. */
  private token = '';
  private programs = 0;

  private constructor(folder: string, ports: number[], timeScale: number) {
    this.folder = folder;
    this.timeScale = timeScale;
    this.certificates = makeCertificates(folder);
    const [dashboard, gateway, graph, notion] = ports;
    this.ports = { dashboard, gateway, graph, notion };
  }

  /** OneNote's windows pass so many times faster: by 5, a minute takes twelve seconds. */
  static async start(timeScale: number): Promise<Stack> {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-clients-'));
    const stack = new Stack(folder, await freePorts(4), timeScale);
    try {
      await stack.startAll();
    } catch (error) {
      await stack.stop();
      throw error;
    }
    return stack;
  }

  get gateway(): string {
    return `https://localhost:${this.ports.gateway}`;
  }

  /** Where the API is. */
  get dashboard(): string {
    return `https://localhost:${this.ports.dashboard}`;
  }

  get ca(): string {
    return this.certificates.ca;
  }

  /** Where the lookalike itself is, for those who call it with a permit. */
  upstream(name: 'graph' | 'notion'): string {
    return `http://127.0.0.1:${this.ports[name]}`;
  }

  /** What the lookalike counted. */
  async referee(name: 'graph' | 'notion'): Promise<Stats> {
    return (await fetch(`${this.upstream(name)}/_sim/stats`)).json() as Promise<Stats>;
  }

  /** How many calls of this user the server counts as in flight at OneNote. */
  async inFlight(user: string): Promise<number> {
    const state = JSON.parse(await this.get(`${this.dashboard}/api/v1/state?upstream=graph`)) as State;
    const budgets = state.upstreams.flatMap(({ workloads }) => workloads).flatMap((workload) => workload.budgets);
    const layers = budgets.filter((budget) => budget.user === user).flatMap((budget) => budget.layers);
    return layers.filter((layer) => layer.dimension === 'concurrency').reduce((sum, layer) => sum + layer.used, 0);
  }

  /** Runs a program to its end; one that fails fails the test with what it said. */
  async run(command: string[], env: Record<string, string>): Promise<Outcome> {
    const observed = join(this.folder, `observed-${this.programs++}`);
    writeFileSync(observed, '');
    const output = await finished(command, {
      ...process.env,
      GRAPH_URL: `${this.gateway}/graph`,
      NOTION_URL: `${this.gateway}/notion`,
      SPILLWAY_TOKEN: this.token,
      NODE_EXTRA_CA_CERTS: this.ca,
      NODE_NO_WARNINGS: '1',
      SSL_CERT_FILE: this.ca,
      CURL_CA_BUNDLE: this.ca,
      PYTHONPATH: resolve('clients/support'),
      PYTHONDONTWRITEBYTECODE: '1',
      OBSERVED: observed,
      ...env,
    });
    const lines = (text: string) => text.split('\n').filter((line) => line !== '');
    const last = lines(output).at(-1) ?? '';
    return {
      results: last.startsWith('{') ? JSON.parse(last) : undefined,
      output,
      seen: lines(readFileSync(observed, 'utf8')).map((line) => JSON.parse(line)),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startAll(): Promise<void> {
    const simulate = (port: number, ...more: string[]) =>
      this.spawn('simulate', '--listen', `127.0.0.1:${port}`, '--rejected', 'count', ...more);
    const latency = ['--latency-ms-min', '200', '--latency-ms-max', '600'];
    const graph = simulate(this.ports.graph, '--time-scale', String(this.timeScale), ...latency);
    const notion = simulate(this.ports.notion, '--latency-ms-min', '20', '--latency-ms-max', '60');
    await Promise.all([
      answers(graph, `${this.upstream('graph')}/_sim/stats`),
      answers(notion, `${this.upstream('notion')}/_sim/stats`),
    ]);
    writeFileSync(join(this.folder, 'spillway.toml'), this.configuration());
    this.token = this.makeToken();
    const server = this.spawn('serve', '--config', 'spillway.toml');
    await answers(server, `${this.dashboard}/readyz`, (url) => this.get(url).then(() => true, () => false));
  }

  private makeToken(): string {
    const rights = ['--role', 'viewer', '--scope', 'gateway,permits,read', '--act-for-users'];
    const create = ['token', 'create', '--config', 'spillway.toml', '--name', 'programs', ...rights];
    return execFileSync(binary, create, { cwd: this.folder, encoding: 'utf8' }).trim();
  }

  private spawn(...args: string[]): Process {
    const started = new Process(args, this.folder);
    this.processes.push(started);
    return started;
  }

  /** What is there, under TLS; Node reads whom `fetch` trusts only when it starts. */
  private get(url: string): Promise<string> {
    return new Promise((done, failed) => {
      const headers = { authorization: `Bearer ${this.token}` };
      const asked = get(url, { ca: readFileSync(this.ca), headers }, async (answer) => {
        const text = (await answer.toArray()).join('');
        if (answer.statusCode === 200) done(text);
        else failed(new Error(`${url} answers ${answer.statusCode}: ${text}`));
      });
      asked.on('error', failed);
    });
  }

  private configuration(): string {
    return `
[server]
listen = "127.0.0.1:${this.ports.dashboard}"
gateway_listen = "127.0.0.1:${this.ports.gateway}"
public_url = "${this.dashboard}"
gateway_url = "${this.gateway}"
database_url = "sqlite://${join(this.folder, 'spillway.db')}"
state_dir = "${this.folder}"
tls_cert = "${this.certificates.cert}"
tls_key = "${this.certificates.key}"
${this.oneNote('graph', 30_000, 120)}
${this.oneNote('graph-brief', 3_000, 60)}

[upstreams.notion]
base_url = "${this.upstream('notion')}/"
presets = ["notion"]
app = "importer"

[[upstreams.notion.clients]]
cidr = "127.0.0.0/8"
app = "neighbour"
`;
  }

  /**
   * OneNote's limits as published (or one of them lower), in windows as much shorter as its lookalike's time is faster.
   * The preset beside them says whose API it is.
   */
  private oneNote(name: string, holdMaxMs: number, userMinute: number): string {
    const rate = (scope: string, windowMs: number, limit: number) =>
      `  { scope = "${scope}", dimension = "rate", window_ms = ${windowMs / this.timeScale}, limit = ${limit} },`;
    return `
[upstreams.${name}]
base_url = "${this.upstream('graph')}/"
presets = ["sharepoint"]
app = "note-bridge"
hold_max_ms = ${holdMaxMs}

[[upstreams.${name}.workloads]]
name = "onenote"
paths = ["/v1.0/me/onenote", "/v1.0/users/*/onenote"]
layers = [
${rate('user', 60_000, userMinute)}
${rate('user', 3_600_000, 400)}
  { scope = "user", dimension = "concurrency", limit = 5 },
${rate('app', 60_000, 240)}
${rate('app', 3_600_000, 800)}
  { scope = "app", dimension = "concurrency", limit = 20 },
]`;
  }
}

/** What a command wrote to standard output; an error where it failed or took too long. */
function finished(command: string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((done, failed) => {
    const child = spawn(command[0], command.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const overdue = setTimeout(() => child.kill('SIGKILL'), PROGRAM_WITHIN_MS);
    let [output, complaints] = ['', ''];
    child.stdout.on('data', (text) => (output += text));
    child.stderr.on('data', (text) => (complaints = (complaints + text).slice(-10_000)));
    child.on('error', failed);
    child.on('close', (code) => {
      clearTimeout(overdue);
      if (code === 0) done(output);
      else failed(new Error(`${command.join(' ')} ended with ${code}:\n${complaints}`));
    });
  });
}

/** An unsigned token like those that the lookalike and the gateway read. */
export function token(user: string, app = 'note-bridge'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ oid: user, tid: 'contoso', appid: app })}.`;
}
