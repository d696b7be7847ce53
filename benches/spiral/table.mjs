/** Results as Markdown. */

const NAMES = {
  requeue: 'a queue that puts each 429 back for 30 s',
  sdk: 'the SDK’s three retries, then lost',
  bottleneck: 'bottleneck 2.19.5',
  spillway: 'Spillway, called by a queue',
  patient: 'Spillway, called by a loop',
};

const COLUMNS = ['client', 'windows', 'pages read', 'calls sent', 'rejected', 'most in an hour', 'time', '× minimum'];

/** A table of results, a row for each. */
export function table(results) {
  const rows = results.map(row);
  const rule = COLUMNS.map((_, n) => (n < 2 ? '---' : '--:'));
  return [COLUMNS, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** One line for somebody who watches. */
export function line(result) {
  return row(result).join(' · ');
}

function row(result) {
  const { variant, sent, rejected } = result;
  const { windows, rejected: counted, event, contender } = variant;
  return [
    event ? `${event}: ${NAMES[contender]}` : NAMES[contender],
    counted === 'count' ? windows : `${windows}, lenient`,
    pagesOf(result),
    number(sent),
    number(rejected),
    `${peak(result)} of ${variant.limits.hour}`,
    time(result),
    over(result),
  ];
}

function pagesOf({ pages, done, lost }) {
  const others = { lost, waiting: pages - done - lost };
  const named = Object.entries(others).filter(([, count]) => count > 0);
  return [number(done), ...named.map(([what, count]) => `${number(count)} ${what}`)].join(', ');
}

/** The most calls in any hour; the lookalike's referee stops counting at four times what it enforces. */
function peak({ peaks: [, hour], enforced_hour }) {
  return `${hour >= 4 * enforced_hour ? '≥ ' : ''}${number(hour)}`;
}

function time({ took_ms, stopped_ms, done, lost, pages }) {
  if (done === pages) return duration(took_ms);
  return done + lost === pages ? `gave up after ${duration(stopped_ms)}` : `stopped after ${duration(stopped_ms)}`;
}

const over = ({ took_ms, minimum_ms }) => (Number.isFinite(took_ms) ? (took_ms / minimum_ms).toFixed(3) : 'never');

const number = (value) => value.toLocaleString('en-US');

function duration(ms) {
  const minutes = Math.round(ms / 60_000);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')}`;
}
