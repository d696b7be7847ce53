/** Runs that live in the same time, with what they need around them. */
import { Gateway } from './gateway.mjs';
import { Run } from './run.mjs';
import { FastTime } from './time.mjs';
import { Upstream } from './upstream.mjs';

/** How much later than the one before it a run begins, so that they do not all call in the same moment. */
const STAGGER_MS = 200_000;

/** The name of the gateway that is restarted (variants.mjs). */
const RESTARTED = 'restarted';

/**
 * Runs all variants at the same time, each with an upstream of its own.
 *
 * @param {{program: string, paths: string[], scale: number}} world `scale`: how fast time passes
 * @param {Variant[]} variants see variants.mjs
 * @param {(result: object) => void} ended told each result as it comes
 */
export async function runAll({ program, paths, scale }, variants, ended) {
  const time = new FastTime(scale);
  const stages = await Promise.all(variants.map((variant, n) => prepare(program, scale, variant, n)));
  const gateways = await startGateways(program, time, stages);
  const runs = stages.map(({ variant, upstream, name }) => {
    const gateway = gateways.get(variant.gateway);
    const base_url = gateway ? `${gateway.base_url}/${name}` : upstream.base_url;
    return new Run(variant, { time, upstream, paths }, base_url);
  });
  const running = runs.map(async (run, n) => {
    const result = await perform(run, n * STAGGER_MS);
    ended(result);
    return result;
  });
  await restartShared(runs, gateways.get(RESTARTED));
  const results = await Promise.all(running);
  await Promise.all([...gateways.values()].map((gateway) => gateway.stop()));
  return results;
}

async function prepare(program, scale, variant, n) {
  const upstream = await Upstream.start(program, { ...variant, scale });
  return { variant, upstream, name: `upstream-${n}`, whole: variant.limits.hour === 400 };
}

async function perform(run, delay_ms) {
  const { variant, upstream, time } = run;
  // Those whose gateway is restarted under them begin together, so that it meets all at the same point.
  if (variant.gateway !== RESTARTED) await time.sleep(delay_ms);
  const restarts = variant.gateway ? undefined : restart([run], run);
  const result = await run.score();
  await restarts;
  await upstream.stop();
  return result;
}

async function startGateways(program, time, stages) {
  const names = new Set(stages.map(({ variant }) => variant.gateway).filter(Boolean));
  const starting = [...names].map(async (gateway) => {
    const upstreams = stages.filter(({ variant }) => variant.gateway === gateway);
    const behind = upstreams.map(({ name, upstream, whole }) => ({ name, whole, base_url: upstream.base_url }));
    return [gateway, await Gateway.start(program, time, behind)];
  });
  return new Map(await Promise.all(starting));
}

/** Restarts the gateway that all runs with restarts share. */
async function restartShared(runs, gateway) {
  const behind = runs.filter(({ variant }) => variant.gateway === RESTARTED);
  if (gateway) await restart(behind, gateway);
}

/** Restarts a gateway, or a contender where there is none, at the times that the runs ask for. */
async function restart(runs, what) {
  await Promise.all(runs.map(({ begun }) => begun));
  const [{ variant, time }] = runs;
  const began_ms = time.now();
  for (const { at_ms, signal } of variant.restarts) {
    await time.sleep(began_ms + at_ms - time.now());
    await what.restart(signal);
  }
}
