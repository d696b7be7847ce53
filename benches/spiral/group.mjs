/** Runs that live in the same time, with what they need around them. */
import { Gateway } from './gateway.mjs';
import { Run } from './run.mjs';
import { FastTime } from './time.mjs';
import { Upstream } from './upstream.mjs';

/** How much later than the one before it a run begins, so that they do not all call in the same moment. */
const STAGGER_MS = 200_000;

/**
 * Runs all variants at the same time, each with an upstream of its own.
 *
 * @param {{program: string, paths: string[], scale: number}} world `scale`: how fast time passes
 * @param {Variant[]} variants see variants.mjs
 * @param {(result: object) => void} ended told each result as it comes
 */
export async function runAll({ program, paths, scale }, variants, ended) {
  const time = new FastTime(scale);
  const starting = variants.map(async (variant, n) => {
    const upstream = await Upstream.start(program, { ...variant, scale });
    return { variant, upstream, name: `upstream-${n}`, whole: variant.limits.hour === 400 };
  });
  const stages = await Promise.all(starting);
  const gateways = await startGateways(program, time, stages);
  const running = stages.map(async ({ variant, upstream, name }, n) => {
    const gateway = gateways.get(variant.gateway);
    const run = new Run(variant, { time, upstream, paths }, gateway ? `${gateway.base_url}/${name}` : upstream.base_url);
    // Those whose gateway is restarted under them begin together, so that it meets all at the same point.
    if (variant.gateway !== 'restarted') await time.sleep(n * STAGGER_MS);
    const restarts = gateway ? undefined : restart(time, variant.restarts, run);
    const result = await run.score();
    await restarts;
    ended(result);
    await upstream.stop();
    return result;
  });
  const restarted = gateways.get('restarted');
  if (restarted) await restart(time, stages.find(({ variant }) => variant.gateway === 'restarted').variant.restarts, restarted);
  const results = await Promise.all(running);
  await Promise.all([...gateways.values()].map((gateway) => gateway.stop()));
  return results;
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

/** Restarts a gateway, or a contender where there is none, at the times given, counted from now. */
async function restart(time, restarts, what) {
  const began_ms = time.now();
  for (const { at_ms, signal } of restarts) {
    await time.sleep(began_ms + at_ms - time.now());
    await what.restart(signal);
  }
}
