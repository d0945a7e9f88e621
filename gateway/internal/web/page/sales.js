// The sales, as the shop last said, and what the clock says since.
import { call, pause } from './calls.js';
import { language } from './language.js';
import { now } from './clock.js';
import { salesWithTickets } from './tickets.js';

export const sales = new Map(); // id → body; gone when it is no longer listed
export const link = { lost: false, next: 0 }; // next try, by performance.now
const every = 10000; // milliseconds
const whole = 60000; // after which the list is asked for though nothing changed, for its clock
let tag = null, asked = '', heard = -Infinity, tries = 0, timer, running = null;
let changed = () => {};

// stateOf is the state by the shop's clock: a sale opens and ends without being told.
export function stateOf(s) {
  if (s.state === 'closed' || s.gone || now() >= Date.parse(s.closes_at)) return 'closed';
  if (s.state === 'scheduled' && now() >= Date.parse(s.opens_at)) return 'open';
  return s.state;
}

// refresh asks for the list; two that ask at once share one answer.
export function refresh() {
  running ??= ask().finally(() => { running = null; });
  return running;
}

async function ask() {
  const as = language(), fresh = as === asked && performance.now() - heard < whole;
  const answer = await call('GET', '/v1/sales', { known: fresh ? tag : null, patience: 8000 });
  clearTimeout(timer);
  const well = answer.status === 200 || answer.status === 304;
  if (answer.status === 200) {
    take(answer.body.sales);
    [tag, asked, heard] = [answer.tag, as, performance.now()];
  }
  tries = well ? 0 : tries + 1;
  const wait = well ? every * (0.75 + Math.random() / 2) : pause(answer, tries - 1);
  link.lost = !well && (tries > 1 || sales.size === 0);
  link.next = performance.now() + wait;
  timer = setTimeout(() => { if (!document.hidden) refresh(); }, wait);
  changed();
  return well;
}

function take(list) {
  const listed = new Set(list.map((s) => s.id)), mine = salesWithTickets();
  for (const s of list) sales.set(s.id, s);
  for (const [id, s] of sales) {
    if (listed.has(id)) continue;
    if (mine.includes(id)) s.gone = true;
    else sales.delete(id);
  }
}

// keep refreshes for as long as somebody looks.
export function keep(onChange) {
  changed = onChange;
  document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
  window.addEventListener('online', refresh);
  return refresh();
}

// resync asks for the clock once more shortly before a sale opens, not everybody at once.
const resynced = new Set();
export function resync() {
  for (const s of sales.values()) {
    const left = Date.parse(s.opens_at) - now();
    if (s.state !== 'scheduled' || left > 30000 || left < 3000 || resynced.has(s.id + s.opens_at)) continue;
    resynced.add(s.id + s.opens_at);
    setTimeout(() => { heard = -Infinity; refresh(); }, Math.random() * (left - 2500));
  }
}
