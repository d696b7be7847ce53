import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';

// Tests are run from end2end/, by whichever runner.
const target = process.env.CARGO_TARGET_DIR ?? resolve('../target');
export const binary = process.env.SPILLWAY_BIN ?? join(target, 'debug', 'spillway');
const site = process.env.LEPTOS_SITE_ROOT ?? join(target, 'site');

/** How long a process may take until it answers; machines that build at the same time are slow. */
const READY_WITHIN_MS = 20_000;

/** A running `spillway`. */
export class Process {
  private readonly child: ChildProcess;
  private log = '';
  private ended = false;
  /** The id of what runs in the terminal. */
  private inTerminal?: string;

  /** `terminal`: its output is a terminal, as for somebody who starts it by hand. */
  constructor(args: string[], cwd: string, terminal = false) {
    const own = ['-c', 'echo "pid $$"; exec "$0" "$@"', binary, ...args];
    const quoted = ['sh', ...own].map((it) => `'${it.replaceAll("'", `'\\''`)}'`).join(' ');
    const [command, ...rest] = terminal ? ['script', '--quiet', '--command', quoted, '/dev/null'] : [binary, ...args];
    this.child = spawn(command, rest, {
      cwd,
      env: { ...process.env, LEPTOS_SITE_ROOT: site },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (text) => {
        this.log = (this.log + text).slice(-10_000);
        this.inTerminal ??= /pid (\d+)/.exec(this.log)?.[1];
      });
    }
    this.child.on('error', (error) => (this.log += error.message));
    this.child.on('close', () => (this.ended = true));
  }

  /** Fails with what the process said if it is gone. */
  check(): void {
    if (this.ended) throw new Error(`the process ended:\n${this.log}`);
  }

  /** The first part of what it said that matches; fails where it ends without. */
  async said(pattern: RegExp): Promise<string> {
    const until = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const found = pattern.exec(this.log);
      if (found) return found[1];
      this.check();
      if (Date.now() > until) throw new Error(`it does not say ${pattern}:\n${this.log}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Ends it by a signal; SIGTERM lets it write what it has to. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.ended) return;
    const closed = new Promise((done) => this.child.once('close', done));
    // A terminal ends with what runs in it.
    if (this.inTerminal) process.kill(Number(this.inTerminal), signal);
    else this.child.kill(signal);
    await closed;
  }
}

/** Waits until the process answers there with success. */
export async function answers(
  started: Process,
  url: string,
  isReady = (at: string) => fetch(at).then((answer) => answer.ok, () => false),
): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  for (;;) {
    started.check();
    if (await isReady(url)) return;
    if (Date.now() > until) throw new Error(`no answer from ${url}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Ports that nobody listens on. */
export async function freePorts(number: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: number }, async () => {
      const server = createServer();
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
