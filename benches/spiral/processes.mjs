/** Child processes, none of which outlives this one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import net from 'node:net';

const running = new Set();

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => process.exit(1));
}
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A child process with its output line by line. */
export class Child {
  #lines;
  #errors = '';

  constructor(command, args, environment = {}) {
    this.name = `${command} ${args[0]}`;
    this.process = spawn(command, args, { env: { ...process.env, ...environment } });
    running.add(this.process);
    this.ended = once(this.process, 'exit').finally(() => running.delete(this.process));
    this.#lines = createInterface({ input: this.process.stdout });
    // Only the end: a server that logs much must not fill the memory.
    this.process.stderr.on('data', (text) => (this.#errors = (this.#errors + text).slice(-4_000)));
  }

  /** What it last wrote on standard error. */
  get errors() {
    return this.#errors.trim();
  }

  onLine(heard) {
    this.#lines.on('line', heard);
  }

  write(text) {
    this.process.stdin.write(text);
  }

  /** Sends a signal and waits for the end. */
  async stop(signal = 'SIGTERM') {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    await this.ended;
  }
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves when `ready` does not fail any more; fails when the child ends first, or takes longer than `patience_ms`. */
export async function untilReady(child, ready, patience_ms = 30_000) {
  const until = performance.now() + patience_ms;
  for (;;) {
    if (await ready()) return;
    const over = child.process.exitCode !== null || performance.now() > until;
    if (over) throw new Error(`${child.name} did not start: ${child.errors}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
