/** The servers that are measured, each alone on one processor, as its users would run it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PORTS, nginx, spillway, upstream } from './configuration.mjs';

/** Who is measured has this processor for itself; the upstream and the load share the other. */
const MEASURED = '0';
export const OTHERS = '1';

/** How long a server may take to listen, and to end: Spillway gives calls ten seconds. */
const PATIENCE_MS = 20_000;

/** Linux counts a process's time in hundredths of a second (USER_HZ), whatever the kernel's own tick. */
const TICKS_PER_S = 100;

const running = new Set();
const scratch = mkdtempSync(join(tmpdir(), 'spillway-bench-'));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
process.on('exit', () => {
  running.forEach((child) => child.kill('SIGTERM'));
  rmSync(scratch, { recursive: true, force: true });
});

/** How each is started: on which processor, its configuration, its command, the port that says that it is up. */
const KINDS = {
  upstream: { cpu: OTHERS, configuration: upstream, command: nginxCommand, port: PORTS.upstream },
  nginx: { cpu: MEASURED, configuration: nginx, command: nginxCommand, port: PORTS.nginx },
  spillway: { cpu: MEASURED, configuration: spillway, command: spillwayCommand, port: PORTS.gateway },
  fast: { cpu: MEASURED, configuration: spillway, command: fastCommand, port: PORTS.dashboard },
  counter: { cpu: MEASURED, command: counterCommand, port: PORTS.counter },
  throttlecrab: { cpu: MEASURED, command: throttlecrabCommand, port: PORTS.throttlecrab },
};

function nginxCommand({ folder, configuration }) {
  return ['nginx', '-p', folder, '-e', join(folder, 'error.log'), '-c', configuration];
}

function spillwayCommand({ configuration }) {
  return [program('SPILLWAY_BIN'), 'serve', '--open', '--config', configuration];
}

/** Its minutes last a second. */
function fastCommand({ configuration }) {
  return [program('SPILLWAY_BIN'), 'serve', '--open', '--time-scale', '60', '--config', configuration];
}

function counterCommand() {
  return [program('COUNTER_BIN'), PORTS.counter];
}

function throttlecrabCommand() {
  return [program('THROTTLECRAB_BIN'), '--http', '--http-host', '127.0.0.1', '--http-port', PORTS.throttlecrab];
}

function program(variable) {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} must name a program`);
  return path;
}

/** Starts one of `KINDS`, with files of its own; resolves when it listens. */
export async function start(name) {
  const { cpu, configuration, command, port } = KINDS[name];
  const folder = mkdtempSync(join(scratch, `${name}-`));
  const file = join(folder, 'configuration');
  if (configuration) writeFileSync(file, configuration(folder));
  const server = new Server(name, folder, ['-c', cpu, ...command({ folder, configuration: file })]);
  await server.untilListening(port);
  return server;
}

/** A server that runs, and what it has used of its processor. */
class Server {
  #process;
  #ended;
  #log;

  constructor(name, folder, command) {
    this.name = name;
    this.#log = join(folder, 'output');
    const log = openSync(this.#log, 'a');
    this.#process = spawn('taskset', command.map(String), { stdio: ['ignore', log, log] });
    closeSync(log);
    running.add(this.#process);
    this.#ended = once(this.#process, 'exit').finally(() => running.delete(this.#process));
  }

  /**
   * Seconds of processor time, user and system, of all its threads and of the processes that it started; and seconds
   * that they waited for the processor while they had something to do.
   */
  get used() {
    const pids = family(this.#process.pid);
    return { cpu: sum(pids.map(cpuSeconds)), queued: sum(pids.flatMap(threads).map(queuedSeconds)) };
  }

  /** Its process. */
  get pid() {
    return this.#process.pid;
  }

  async untilListening(port) {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await sleep(20)) {
      if (this.#process.exitCode !== null) break;
      if (await connects(port)) return;
    }
    throw new Error(`${this.name} does not listen: ${readFileSync(this.#log, 'utf8').trim().slice(-2_000)}`);
  }

  async stop() {
    this.#process.kill('SIGTERM');
    const late = setTimeout(() => this.#process.kill('SIGKILL'), PATIENCE_MS);
    await this.#ended;
    clearTimeout(late);
  }
}

/** A process and those that it started. */
function family(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.flatMap(family)];
}

const threads = (pid) => readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);

function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the command in parentheses, and may hold spaces; `utime` and `stime` are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

function queuedSeconds(thread) {
  return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
}

const sum = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

function connects(port) {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
    socket.once('close', (failed) => resolve(!failed));
  });
}
