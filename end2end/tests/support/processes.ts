import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Line } from './line';
import { answers, binary, freePorts, Process } from './process';

/** The password of every account. */
export const PASSWORD = 'correct horse battery';

/** The lookalike and the server in front of it, on ports and files of their own. */
export class Spillway {
  private server?: Process;
  private readonly permits: string[] = [];

  private constructor(
    private readonly folder: string,
    private readonly simulator: Process,
    private readonly ports: { dashboard: number; gateway: number; simulator: number; line: number },
    private readonly closed: boolean,
    private readonly terminal: boolean,
  ) {}

  /**
   * `closed`: people have to sign in; `more`: sections of the configuration, and a file `secret` beside it;
   * `terminal`: it is started in a terminal.
   */
  static async start(closed = false, more = { config: '', secret: '' }, terminal = false): Promise<Spillway> {
    const folder = await mkdtemp(join(tmpdir(), 'spillway-e2e-'));
    const [dashboard, gateway, simulator, line] = await freePorts(4);
    const quick = ['--latency-ms-min', '5', '--latency-ms-max', '20'];
    const lookalike = new Process(['simulate', '--listen', `127.0.0.1:${simulator}`, ...quick], folder);
    const spillway = new Spillway(folder, lookalike, { dashboard, gateway, simulator, line }, closed, terminal);
    await writeFile(join(folder, 'spillway.toml'), spillway.configuration() + more.config);
    await writeFile(join(folder, 'secret'), more.secret);
    await answers(lookalike, `http://127.0.0.1:${simulator}/_sim/stats`);
    await spillway.startServer();
    return spillway;
  }

  get dashboard(): string {
    return `http://127.0.0.1:${this.ports.dashboard}`;
  }

  get gateway(): string {
    return `http://127.0.0.1:${this.ports.gateway}`;
  }

  /** A line to the dashboard that can be cut, and where it begins. */
  async line(): Promise<{ line: Line; dashboard: string }> {
    const line = await Line.open(this.ports.line, this.ports.dashboard);
    return { line, dashboard: `http://127.0.0.1:${this.ports.line}` };
  }

  async startServer(): Promise<void> {
    const open = this.closed ? [] : ['--open'];
    this.server = new Process(['serve', '--config', 'spillway.toml', ...open], this.folder, this.terminal);
    await answers(this.server, `${this.dashboard}/readyz`);
  }

  /** The link by which the first admin is made, as the terminal shows it. */
  async setUpLink(): Promise<string> {
    if (!this.server) throw new Error('no server was started');
    return this.server.said(/(http\S+\/set-up\?key=[0-9a-f]+)/);
  }

  /** `spillway user …`, beside the server; what is asked for on standard input is the password. */
  user(...args: string[]): void {
    execFileSync(binary, ['user', ...args], { cwd: this.folder, input: PASSWORD });
  }

  /** `spillway …`, beside the server: what it prints. */
  command(...args: string[]): string {
    return execFileSync(binary, args, { cwd: this.folder }).toString().trim();
  }

  /** Ends the server in order, so that it writes what it has seen, and starts it again. */
  async restart(): Promise<void> {
    await this.server?.end('SIGTERM');
    await this.startServer();
  }

  /** Kills the server as a power cut would. */
  async killServer(): Promise<void> {
    await this.server?.kill();
  }

  async stop(): Promise<void> {
    await this.killServer();
    await this.simulator.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Makes so many calls for a user through the gateway, one after another. */
  async call(user: string, times: number, headers: Record<string, string> = {}): Promise<void> {
    for (let call = 0; call < times; call++) {
      const status = await this.send(user, headers);
      if (status !== 200) throw new Error(`a call of ${user} was answered ${status}`);
    }
  }

  /** Makes one call that is not held, so that what the upstream answers first is the answer; says how it was answered. */
  async tryCall(user: string): Promise<number> {
    return this.send(user, { 'spillway-wait-ms': '0' });
  }

  private async send(user: string, headers: Record<string, string>): Promise<number> {
    const authorization = `Bearer ${token(user)}`;
    const url = `${this.gateway}/graph/v1.0/me/onenote/notebooks`;
    const answer = await fetch(url, { headers: { authorization, ...headers } });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Takes a permit for a user, as a caller does that calls the upstream itself. */
  async take(user: string, more: object = {}): Promise<string> {
    const wanted = { upstream: 'graph', workload: 'onenote', app: APP, tenant: 'contoso', user, ...more };
    const { id } = await this.post('', wanted, 200);
    this.permits.push(id);
    return id;
  }

  /** The call of this permit is over. */
  async complete(permit: string): Promise<void> {
    await this.post(`/${permit}/complete`, { status: 200 }, 204);
  }

  /** All calls are over whose permits were taken here. */
  async completeAll(): Promise<void> {
    for (const permit of this.permits.splice(0)) await this.complete(permit);
  }

  private async post(path: string, body: object, expected: number): Promise<{ id: string }> {
    const headers = { 'content-type': 'application/json' };
    const url = `${this.dashboard}/api/v1/permits${path}`;
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (answer.status !== expected) throw new Error(`${answer.status} ${text}`);
    return text === '' ? { id: '' } : JSON.parse(text);
  }

  /** Pauses or resumes background calls, as an operator does. */
  async steer(act: 'pause' | 'resume', wish: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ ...wish, reason: 'a test' });
    const url = `${this.dashboard}/api/v1/lanes/graph/background/${act}`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  /** Whose background calls are paused: the scopes, the widest first. */
  async paused(): Promise<string[]> {
    const [graph] = (await this.state()).upstreams;
    return (graph.pauses ?? []).map((it) => it.scope);
  }

  /** Has the lookalike misbehave at the next calls that match. */
  async inject(order: { user?: string; count?: number; fault: object }): Promise<void> {
    const url = `http://127.0.0.1:${this.ports.simulator}/_sim/faults`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(order) });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  /** `GET /api/v1/state`. */
  async state(): Promise<State> {
    return (await fetch(`${this.dashboard}/api/v1/state`)).json();
  }

  /** What the lookalike saw arrive. */
  async referee(): Promise<Stats> {
    return (await fetch(`http://127.0.0.1:${this.ports.simulator}/_sim/stats`)).json();
  }

  private configuration(): string {
    const hosts = [this.ports.dashboard, this.ports.gateway, this.ports.line];
    return `
[server]
listen = "127.0.0.1:${this.ports.dashboard}"
gateway_listen = "127.0.0.1:${this.ports.gateway}"
public_url = "${this.dashboard}"
gateway_url = "${this.gateway}"
allowed_hosts = [${hosts.map((port) => `"127.0.0.1:${port}"`).join(', ')}]
database_url = "sqlite://${join(this.folder, 'spillway.db')}"
state_dir = "${this.folder}"

[upstreams.graph]
base_url = "http://127.0.0.1:${this.ports.simulator}/"
presets = ["onenote"]
app = "${APP}"
${this.closed ? '[[upstreams.graph.clients]]\ncidr = "127.0.0.1/32"' : ''}
`;
  }
}

/** The application in whose name the tests call. */
export const APP = 'note-bridge';

export interface Layer {
  dimension: 'rate' | 'concurrency';
  window_ms?: number;
  limit: number;
  used: number;
  used_background: number;
}

export interface Budget {
  scope: 'app' | 'tenant' | 'user';
  app: string;
  user: string;
  layers: Layer[];
}

export interface State {
  as_of: string;
  upstreams: { name: string; pauses?: { scope: string }[]; workloads: { name: string; budgets: Budget[] }[] }[];
}

export interface Stats {
  arrived: number;
  rejected: number;
  budgets: {
    scope: string;
    user: string;
    layers: { window_ms?: number; peak: number; last_window?: number }[];
  }[];
}

/** An unsigned token like those that the lookalike and the gateway read. */
function token(user: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { oid: user, tid: 'contoso', appid: APP };
  return `${part({ alg: 'none' })}.${part(claims)}.`;
}
