/** Results as Markdown, and what they have to be. */

/** A call through Spillway beside one through nginx. */
export function gateway(rounds) {
  const added = (p) => (name) => median(rounds, (round) => round[name][p] - round.direct[p]);
  const cost = (name) => median(rounds, (round) => round[name].perCpuSecond);
  return table(['nginx', 'spillway'], '| | nginx | Spillway | ratio | |', [
    ['added to a call, half of them', added('p50'), micros, { most: 1.5 }],
    ['added to a call, one in a hundred', added('p99'), micros, { most: 1.5 }],
    ['calls for each second of processor time', cost, whole, { least: 0.7 }],
  ]);
}

/** A permit beside a decision of throttlecrab-server. */
export function decisions(rounds) {
  const cost = (name) => median(rounds, (round) => round[name].perCpuSecond);
  return table(['throttlecrab', 'permits'], '| | throttlecrab-server | Spillway | ratio | |', [
    ['decisions for each second of processor time', cost, whole, { least: 1 }],
  ]);
}

/** Which promises a table does not keep. A figure that makes no sense keeps none. */
export function misses({ rows }) {
  const kept = ({ ratio, bar }) => (bar.most ? ratio > 0 && ratio <= bar.most : ratio >= bar.least);
  return rows.filter((row) => !kept(row)).map(({ what, ratio }) => `${what}: ${ratio.toFixed(2)}`);
}

function table([peer, ours], head, promises) {
  const rows = promises.map(([what, figure, unit, bar]) => ({
    what,
    cells: [unit(figure(peer)), unit(figure(ours))],
    ratio: figure(ours) / figure(peer),
    bar,
  }));
  const lines = rows.map(({ what, cells, ratio, bar }) => {
    const promise = bar.most ? `at most ${bar.most}` : `at least ${bar.least}`;
    return `| ${[what, ...cells, ratio.toFixed(2), promise].join(' | ')} |`;
  });
  return { rows, text: [head, '|---|--:|--:|--:|---|', ...lines].join('\n') };
}

function median(rounds, figure) {
  const sorted = rounds.map(figure).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

const micros = (ms) => `${(ms * 1_000).toFixed(0)} µs`;
const whole = (count) => Math.round(count).toLocaleString('en');
