// Keeps the parts of a page current that move: elements with data-live. Once a second, while somebody can see
// the page, it asks for them by part=live and puts them in place; nothing else of the page is touched. It holds no
// connection open, so that any number of tabs leaves room for others. What a browser shows is said above: live,
// late, stale, disconnected or signed out; old values turn grey. Without this script the page is a snapshot.
const EVERY_MS = 1_000;
const LATE_MS = 3_000;
const STALE_MS = 10_000;
const RETRY_MS_MAX = 30_000;
const SAY_EVERY_MS = 10_000;

const main = document.querySelector('main');
const shown = document.querySelector('[data-connection]');
const button = document.querySelector('[data-pause]');
const old = document.querySelector('[data-old]');
const announcer = document.querySelector('[data-announce]');
const address = new URL(location.href);
address.searchParams.delete('told');
address.searchParams.set('part', 'live');
address.hash = '';

let good = Date.now();
let failures = 0;
let paused = false;
let trouble = '';
let said = document.querySelector('[data-say]')?.textContent;
let saidAt = 0;
let timer;
let asking = false;

// Rows neither move nor go while somebody points at them, is in them, or marks their text.
function isHeld(part) {
  const marked = getSelection();
  const isMarked = marked !== null && !marked.isCollapsed && part.contains(marked.anchorNode);
  return part.matches(':hover') || part.contains(document.activeElement) || isMarked;
}

// Only what its cells say, row by row.
function putCells(part, fresh) {
  for (const row of part.querySelectorAll('[data-row]')) {
    const now = [...fresh.querySelectorAll('[data-row]')].find((it) => it.dataset.row === row.dataset.row);
    row.classList.toggle('old', now === undefined);
    if (now === undefined) continue;
    const cells = now.querySelectorAll('[data-cell]');
    row.querySelectorAll('[data-cell]').forEach((cell, n) => {
      const isInside = cell.contains(document.activeElement);
      if (cells[n] !== undefined && !isInside) cell.replaceChildren(...cells[n].childNodes);
    });
  }
}

function put(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  for (const now of fresh.querySelectorAll('[data-live]')) {
    const part = main.querySelector(`[data-live="${now.dataset.live}"]`);
    if (part === null || part.innerHTML === now.innerHTML) continue;
    if (isHeld(part)) putCells(part, now);
    else {
      part.className = now.className;
      part.replaceChildren(...now.childNodes);
    }
  }
  dispatchEvent(new Event('parts-changed'));
}

// One sentence, at most each ten seconds, and only when it has changed.
function announce() {
  const sentence = main.querySelector('[data-say]')?.textContent;
  if (sentence === said || Date.now() - saidAt < SAY_EVERY_MS) return;
  [said, saidAt] = [sentence, Date.now()];
  announcer.textContent = sentence;
}

function state() {
  const age = Date.now() - good;
  if (trouble === 'out') return ['full', 'Signed out', 'You are signed out.'];
  if (paused) return ['near', 'Paused', ''];
  if (trouble === 'gone' && age >= LATE_MS) return ['full', 'Disconnected', 'Spillway cannot be reached.'];
  if (age >= STALE_MS) return ['full', 'Stale', 'Spillway has gone quiet.'];
  if (age >= LATE_MS) return ['near', 'Late', ''];
  return ['clear', 'Live', ''];
}

function show() {
  const [zone, word, words] = state();
  const age = Math.max(0, Math.round((Date.now() - good) / 1_000));
  shown.className = `connection ${zone}`;
  shown.querySelector('b').textContent = word;
  shown.querySelector('small').textContent = word === 'Live' ? '' : `${age} s ago`;
  if (old.hidden !== (words === '')) {
    old.hidden = words === '';
    old.querySelector('b').textContent = words;
    announcer.textContent = words;
  }
  main.classList.toggle('old', words !== '' || word === 'Paused');
}

async function ask() {
  try {
    const answer = await fetch(address, {
      redirect: 'manual',
      headers: { accept: 'text/html' },
      signal: AbortSignal.timeout(STALE_MS),
    });
    if (answer.type === 'opaqueredirect' || answer.status === 401 || answer.status === 403) {
      trouble = 'out';
      return;
    }
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    const text = await answer.text();
    if (paused) return;
    put(text);
    announce();
    [good, failures, trouble] = [Date.now(), 0, ''];
  } catch {
    failures += 1;
    trouble = 'gone';
  }
}

async function turn() {
  clearTimeout(timer);
  if (document.hidden || paused || asking) return;
  asking = true;
  await ask();
  asking = false;
  show();
  const back = Math.min(RETRY_MS_MAX, EVERY_MS * 2 ** Math.min(failures, 5));
  const wait = failures === 0 ? EVERY_MS : back * (0.5 + Math.random() / 2);
  if (!document.hidden && !paused) timer = setTimeout(turn, trouble === 'out' ? RETRY_MS_MAX : wait);
}

button.addEventListener('click', () => {
  paused = !paused;
  button.textContent = paused ? 'Resume updates' : 'Pause updates';
  show();
  turn();
});
document.addEventListener('visibilitychange', turn);
setInterval(() => document.hidden || show(), EVERY_MS);
shown.hidden = button.hidden = false;
show();
timer = setTimeout(turn, EVERY_MS);
