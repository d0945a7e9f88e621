// The figures of all sales, and the pace.
import { put, count, rate, span, drain, setLevel, time } from './format.js';
import { state, now, ageOf, againstPromise } from './state.js';
import { ofPace } from './commands.js';

const is = (name) => document.querySelector(`[data-is="${name}"]`);
const tile = document.getElementById('tile-age');
document.querySelector('#pace .commands div').append(...ofPace());
const notice = document.getElementById('notice');

// What holds the pace, in words.
const limits = {
  pace: 'The pace itself is the limit: it rises while the database keeps up.',
  demand: 'Limited by demand: it may make this many, and there are no more to make.',
  consumers: 'Limited by consumers: all that are allowed are busy. More workers, or a higher -consumers, would do more.',
  latency: 'Limited by latency: the database is slow even at the lowest pace.',
  ceiling: 'Limited by the operators’ ceiling.',
  errors: 'Limited by errors: time-outs or too many connections at the database.',
};

export function showNow() {
  const t = state.frame.totals;
  const age = ageOf(t), { part, word } = againstPromise(age), promise = state.frame.promise_seconds;
  put(is('age'), t.waiting === 0 && t.age_known ? 'nothing' : span(age));
  put(is('age-sub'), age == null ? 'since when is not known' : promise ? `${t.waiting ? `${word}: ` : ''}promised are ${span(promise)}` : 'nothing is promised');
  tile.classList.toggle('late', part > 1);
  setLevel(tile.querySelector('.level'), part);
  put(is('waiting'), count(t.waiting));
  put(is('waiting-sub'), t.waiting ? `time to drain: ${drain(t.waiting, t.settling, t.age_known)}` : t.age_known ? 'nothing is to be drained' : 'of some sales it is not known');
  put(is('accepting'), rate(t.accepting));
  put(is('settling'), rate(t.settling));
  showPace(state.frame.pace);
  showNotice(state.frame.sales_at);
}

function showPace(p) {
  document.getElementById('pace').hidden = !p;
  if (!p) return;
  document.getElementById('pace').classList.toggle('paused', p.paused);
  put(is('pace'), p.paused ? 'Paused' : `${count(p.orders_per_second)} orders a second`);
  put(is('limit'), p.paused ? 'An operator paused the pace: nothing is ordered here.' : limits[p.limited_by] ?? '');
  const part = p.target_ms > 0 ? p.p90_ms / p.target_ms : 0;
  put(is('p90'), p.p90_ms === 0 ? `none yet, target ${rate(p.target_ms)} ms` : `${rate(p.p90_ms)} ms, target ${rate(p.target_ms)} ms${part > 1 ? ': over' : ''}`);
  setLevel(document.getElementById('p90-level'), part);
  put(is('consumers'), `${p.consumers} of at most ${p.consumers_max}`);
  put(is('in-flight'), count(p.in_flight));
  put(is('wanted'), count(p.workers_wanted));
}

// showNotice says what could not be read for a while, though this page is live.
function showNotice(listed) {
  const old = [];
  if (listed && now() - listed > 20000) old.push(`The list of sales (Postgres) could not be read since ${time(listed)}.`);
  if (listed == null) old.push('The list of sales was not read yet: Postgres does not answer.');
  const cut = [...state.sales.values()].filter((s) => s.redis_state === 'unreachable').length;
  if (cut) old.push(`Redis does not answer for ${cut} ${cut === 1 ? 'sale' : 'sales'}: their figures are old.`);
  notice.hidden = old.length === 0;
  put(notice, old.join(' '));
}
