/** Results as Markdown. */

const NAMES = {
  requeue: 'a queue that puts each 429 back for 30 s',
  sdk: 'the SDK’s three retries, then lost',
  bottleneck: 'bottleneck 2.19.5',
  spillway: 'Spillway, called by a queue',
  patient: 'Spillway, called by a loop',
};

const COLUMNS = ['client', 'windows', 'pages read', 'calls sent', 'rejected', 'most in an hour', 'time', '× minimum'];

/** A table of results; `heading` goes over the first column's second part where there are events. */
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
  const { variant, done, lost, pages, sent, rejected, peaks } = result;
  const { windows, rejected: counted, event, contender } = variant;
  return [
    event ? `${event}: ${NAMES[contender]}` : NAMES[contender],
    counted === 'count' ? windows : `${windows}, lenient`,
    `${number(done)}${lost > 0 ? `, ${number(lost)} lost` : ''}${done + lost < pages ? `, ${number(pages - done - lost)} waiting` : ''}`,
    number(sent),
    number(rejected),
    `${number(peaks[1])} of ${variant.limits.hour}`,
    time(result),
    over(result),
  ];
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
