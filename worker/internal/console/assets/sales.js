// The list of sales: the oldest backlog first, filtered, walked through by keys.
import { el, put, count, rate, span, drain, states, level, setLevel, unknown } from './format.js';
import { state, ageOf, againstPromise } from './state.js';
import { flagsOf } from './flags.js';

const body = document.getElementById('sale-rows');
const filter = document.getElementById('filter');
const rows = new Map(); // by id: the row and what it was drawn from
const sortEvery = 5000; // a list that jumps about cannot be read
let sortedAt = 0;

function cell(label, className = '') {
  return el('td', { role: 'cell', 'data-label': label, class: className });
}

function newRow(id, choose) {
  const name = el('button', { type: 'button', 'data-sale': id });
  const small = el('small');
  const row = el('tr', { role: 'row' }, el('th', { role: 'rowheader', scope: 'row' }, name, small));
  const r = {
    row, name, small, state: cell('State', 'is-state'), left: cell('Units left'), waiting: cell('Waiting', 'n'), age: cell('Oldest', 'age'),
    draining: cell('Drained a second', 'n extra'), drain: cell('Time to drain', 'n'), weight: cell('Weight', 'n extra'), drawn: null,
  };
  r.leftText = el('span'); r.leftBar = level(); r.left.append(r.leftText, r.leftBar);
  r.ageText = el('span'); r.ageBar = level(); r.age.append(r.ageText, r.ageBar);
  r.badge = el('span', { class: 'state' }); r.flags = el('span'); r.state.append(r.badge, r.flags);
  row.append(r.state, r.left, r.waiting, r.age, r.draining, r.drain, r.weight);
  row.onclick = () => choose(id, true);
  return r;
}

function draw(r, s) {
  put(r.name, s.title || s.id);
  put(r.small, s.title ? s.id : '');
  r.badge.className = `state ${s.state}`;
  put(r.badge, states[s.state] ?? s.state);
  r.flags.replaceChildren(...flagsOf(s).map((f) => el('span', { class: 'flag' }, f.short)));
  put(r.leftText, s.redis ? `${count(s.redis.stock)} of ${count(s.total)}` : `${unknown} of ${count(s.total)}`);
  setLevel(r.leftBar, s.redis && s.total ? s.redis.stock / s.total : 0);
  r.leftBar.classList.remove('late', 'near');
  put(r.waiting, count(s.waiting));
  put(r.draining, rate(s.draining));
  put(r.drain, s.waiting ? drain(s.waiting, s.draining, s.age_known) : unknown);
  put(r.weight, count(s.weight));
}

// drawAge is for every frame: an age grows by itself.
function drawAge(r, s) {
  const age = ageOf(s), { part, word } = againstPromise(age);
  put(r.ageText, s.waiting === 0 || age == null ? unknown : `${span(age)}${word ? `, ${word}` : ''}`);
  r.age.classList.toggle('late', part > 1);
  r.ageBar.hidden = !s.waiting || age == null;
  setLevel(r.ageBar, part);
}

const matches = (s, words) => words.every((w) => `${s.id} ${s.title} ${states[s.state] ?? s.state}`.toLowerCase().includes(w));

// Worst first: the oldest backlog, then the largest, then what sells.
const weight = { rebuilding: 0, open: 1, paused: 2, sold_out: 3, scheduled: 4, not_loaded: 5, closed: 6 };
function worstFirst(a, b) {
  return (a.oldest ?? Infinity) - (b.oldest ?? Infinity) || (b.waiting ?? 0) - (a.waiting ?? 0) ||
    (weight[a.state] ?? 9) - (weight[b.state] ?? 9) || (a.id < b.id ? -1 : 1);
}
// Infinity − Infinity is no number, which || passes over.

function arrange() {
  sortedAt = Date.now();
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const order = [...state.sales.values()].filter((s) => matches(s, words)).sort(worstFirst);
  const wanted = order.map((s) => rows.get(s.id).row);
  if (wanted.length !== body.children.length || wanted.some((row, i) => body.children[i] !== row)) {
    const focused = document.activeElement;
    body.replaceChildren(...wanted);
    if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
  }
  put(document.getElementById('sales-count'), words.length ? `${order.length} of ${state.sales.size}` : String(state.sales.size));
  const none = document.getElementById('sales-none');
  none.hidden = order.length > 0;
  put(none, state.sales.size ? 'No sale is like that.' : 'There are no sales yet: warmup apply adds them.');
}

export function showSales(choose) {
  let changed = false;
  for (const id of rows.keys()) if (!state.sales.has(id)) changed = rows.delete(id);
  for (const [id, s] of state.sales) {
    let r = rows.get(id);
    if (!r) {
      rows.set(id, r = newRow(id, choose));
      changed = true;
    }
    if (r.drawn !== s) draw(r, s);
    r.drawn = s;
    drawAge(r, s);
  }
  if (changed || Date.now() - sortedAt > sortEvery) arrange();
}

export function mark(id) {
  for (const [other, r] of rows) {
    if (other === id) r.row.setAttribute('aria-current', 'true');
    else r.row.removeAttribute('aria-current');
  }
}

// listen adds the keys: / to the filter, j and k through the list, Escape out.
export function listen(choose, close) {
  filter.addEventListener('input', arrange);
  document.addEventListener('keydown', (e) => {
    const typing = e.target.matches?.('input, textarea');
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Escape') typing && filter.value ? (filter.value = '', arrange()) : close();
    else if (typing) return;
    else if (e.key === '/') (e.preventDefault(), filter.focus(), filter.select());
    else if (e.key === 'j' || e.key === 'k') step(e.key === 'j' ? 1 : -1, choose);
  });
}

function step(by, choose) {
  const all = [...body.querySelectorAll('button')];
  if (!all.length) return;
  const at = all.findIndex((b) => b.dataset.sale === state.selected);
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next.focus();
  choose(next.dataset.sale, false);
}
