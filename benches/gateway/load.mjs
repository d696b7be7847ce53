/** Load by wrk, and what it cost the server that answered. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { OTHERS } from './servers.mjs';

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * `connections` clients, each calling again when it was answered, for `seconds` or until the script has had enough.
 *
 * @param given what the script is told
 * @param server whose processor time is counted; none: nobody's
 * @param answered how many calls somebody has answered until now, who must know: each call has to be among them
 * @returns {Promise<{perSecond: number, p50: number, p99: number, perCpuSecond?: number, busy?: number}>} requests a
 *   second; how many milliseconds half and one in a hundred took at least; requests for each second of the server's
 *   processor time, and in which part of the time it had something to do
 */
export async function load(url, script, { connections, seconds, given = [], server, answered }) {
  const answersBefore = await answered();
  const before = server?.used;
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', here(script), url, '--', ...given];
  const { stdout } = await run('taskset', ['-c', OTHERS, 'wrk', ...args]);
  const after = server?.used;
  const figures = JSON.parse(stdout.slice(stdout.indexOf('{"requests"')));
  check(url, figures, (await answered()) - answersBefore, connections);
  const { requests, seconds: took, p50_us, p99_us } = figures;
  const result = { perSecond: requests / took, p50: p50_us / 1_000, p99: p99_us / 1_000 };
  if (!server) return result;
  const [cpu, queued] = [after.cpu - before.cpu, after.queued - before.queued];
  return { ...result, perCpuSecond: requests / cpu, busy: (cpu + queued) / took };
}

/** Every call was answered, and by whom it should be; those that wrk left behind at its end may be more. */
function check(url, { requests, failed }, answers, connections) {
  if (requests === 0 || failed > 0) throw new Error(`${failed} of ${requests} calls to ${url} failed`);
  if (answers < requests || answers > requests + 2 * connections) {
    throw new Error(`${requests} calls to ${url} were answered, but ${answers} got where they should`);
  }
}
