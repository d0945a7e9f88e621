// One sale in full: its units, its way through, what is out of the ordinary, and the commands.
import { el, put, count, rate, span, drain, moment, momentOfDay, states, level, setLevel } from './format.js';
import { state, ageOf, againstPromise } from './state.js';
import { flagsOf, meaning } from './flags.js';
import { ofSale } from './commands.js';

const panel = document.getElementById('sale');
const body = document.getElementById('sale-body');
const split = document.querySelector('.split');
let drawn = null;

export function openDetail() {
  panel.hidden = false;
  split.classList.add('with-sale');
  drawn = null;
  document.querySelector('#sale .commands div').replaceChildren(...ofSale(state.selected));
  panel.scrollTop = 0;
}

export function closeDetail() {
  panel.hidden = true;
  split.classList.remove('with-sale');
}

export function showDetail() {
  const s = state.sales.get(state.selected);
  if (!s) return;
  if (drawn !== s) {
    put(document.getElementById('sale-title'), s.title || s.id);
    body.replaceChildren(head(s), ...flagList(s), units(s), funnel(s), backlog(s));
    drawn = s;
  }
  const age = ageOf(s), { part, word } = againstPromise(age), promise = state.frame.promise_seconds;
  put(body.querySelector('[data-age]'), age == null ? 'not known' : s.waiting === 0 ? 'nothing waits' : `${span(age)}${promise ? ` of ${span(promise)} promised: ${word}` : ''}`);
  setLevel(body.querySelector('[data-age-bar]'), part);
}

function head(s) {
  return el('div', {},
    el('p', {}, el('span', { class: `state ${s.state}` }, states[s.state] ?? s.state), ' ', meaning(s)),
    el('p', { class: 'soft' }, `${s.id}, ${s.kind}. Opens `, moment(s.opens_at), ', closes ', moment(s.closes_at), `. Weight ${s.weight}, epoch ${s.epoch}${s.redis ? `, version ${s.redis.version}` : ''}.`));
}

function flagList(s) {
  const flags = flagsOf(s);
  return flags.length ? [el('ul', { class: 'flags' }, ...flags.map((f) => el('li', {}, ...[f.long].flat())))] : [];
}

// units shows where every unit of the sale is, by what Redis said in one answer.
function units(s) {
  const r = s.redis;
  if (!r) return el('p', { class: 'soft' }, `${count(s.total)} units, ${count(s.held)} of them held by orders. Redis said nothing of it yet.`);
  const unpaid = Math.min(r.unpaid, r.total - r.stock);
  const parts = [['paid', 'paid', r.total - r.stock - unpaid], ['unpaid', 'not paid yet', unpaid], ['left', 'left', r.stock]];
  const bar = el('div', { class: 'stack', 'aria-hidden': 'true' }), list = el('ul', { class: 'parts' });
  for (const [name, word, n] of parts) {
    const piece = el('i', { class: name });
    piece.style.width = `${r.total ? (100 * n) / r.total : 0}%`;
    bar.append(piece);
    list.append(el('li', {}, el('i', { class: name, 'aria-hidden': 'true' }), `${count(n)} ${word}`));
  }
  return el('div', {}, el('h3', {}, `${count(r.total)} units`), bar, list);
}

function funnel(s) {
  const r = s.redis, most = Math.max(1, s.total, r?.rank ?? 0);
  const list = el('dl', { class: 'funnel' });
  const steps = [['Units in total', s.total], ['Reservations accepted', r?.rank], ['Served with an outcome', r?.served], ['Orders that hold a unit', s.held], ['Not paid yet', r?.unpaid], ['Units given back', r?.given]];
  for (const [word, n] of steps) {
    const bar = el('dd', { class: 'level', 'aria-hidden': 'true' }, el('i'));
    setLevel(bar, (n ?? 0) / most);
    bar.classList.remove('late', 'near');
    list.append(el('dt', {}, word), bar, el('dd', {}, count(n)));
  }
  return el('div', {}, el('h3', {}, 'Through the funnel'), list, el('p', { class: 'soft' }, 'What each layer refused is counted by the gateways: sluice_funnel_exits_total in their /metrics.'));
}

function backlog(s) {
  const bar = level();
  bar.dataset.ageBar = '';
  const facts = [
    ['Oldest waiting', el('span', {}, el('span', { 'data-age': '' }), bar)], ['Since', s.oldest ? momentOfDay(s.oldest) : '–'], ['Waiting', count(s.waiting)],
    ['Accepted a second', rate(s.accepting)], ['Drained a second', rate(s.draining)], ['Time to drain', drain(s.waiting, s.draining, s.age_known)],
  ];
  return el('div', {}, el('h3', {}, 'Backlog'), el('dl', { class: 'facts' }, ...facts.map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v)))));
}
