// Alerts: what fires first, since when, and where the runbook says what to do.
import { el, put, span, momentOfDay } from './format.js';
import { state, now } from './state.js';

const $ = (id) => document.getElementById(id);
let shown = '', known = null;

// itemOf is one alert. choose selects a sale.
function itemOf(a, choose) {
  const where = a.sale ? [' of ', saleLink(a.sale, choose)] : a.dependency ? [` of ${a.dependency}`] : [];
  const since = a.state === 'resolved' && a.resolved_at ? ['resolved ', momentOfDay(a.resolved_at)] : ['since ', momentOfDay(a.since), el('span', { 'data-since': a.since })];
  return el('li', { class: `alert ${a.state}` },
    el('span', { class: 'word' }, a.state),
    el('span', { class: 'what' }, el('b', {}, a.alert), ...where, a.summary ? `: ${a.summary}` : ''),
    el('span', { class: 'when' }, ...since),
    el('span', { class: 'more' },
      el('a', { href: `/console/runbook#${a.alert.toLowerCase()}` }, `Runbook: ${a.alert}`),
      el('span', { class: 'soft' }, a.severity === 'page' ? 'severity page: act now' : `severity ${a.severity}: in working hours`)));
}

function saleLink(id, choose) {
  const b = el('button', { type: 'button', class: 'link' }, id);
  b.onclick = () => choose(id);
  return b;
}

export function showAlerts(choose) {
  const all = state.frame.alerts;
  const text = JSON.stringify(all);
  if (text !== shown) {
    shown = text;
    draw(all, choose);
    tell(all);
  }
  for (const e of document.querySelectorAll('[data-since]')) put(e, `, ${span(Math.floor(Math.max(0, now() - e.dataset.since) / 1000))}`);
}

function draw(all, choose) {
  const firing = (all ?? []).filter((a) => a.state === 'firing');
  const pending = (all ?? []).filter((a) => a.state === 'pending');
  const past = (all ?? []).filter((a) => a.state === 'resolved');
  $('alert-list').replaceChildren(...[...firing, ...pending].map((a) => itemOf(a, choose)));
  $('alert-none').hidden = firing.length + pending.length > 0;
  $('alert-none').className = all ? 'calm' : 'soft';
  put($('alert-none'), all ? 'Nothing fires, nothing is pending.' : 'This worker watches no alerts.');
  put($('alert-count'), [firing.length && `${firing.length} firing`, pending.length && `${pending.length} pending`].filter(Boolean).join(', '));
  $('alert-past').hidden = past.length === 0;
  put($('alert-past').querySelector('summary'), `${past.length} resolved within the last hour`);
  $('alert-past').querySelector('ul').replaceChildren(...past.map((a) => itemOf(a, choose)));
  state.firing = firing.length;
}

// tell has a screen reader say what is new, not what was there.
function tell(all) {
  const firing = new Map((all ?? []).filter((a) => a.state === 'firing').map((a) => [`${a.alert} ${a.sale} ${a.dependency}`, a]));
  const fresh = known && [...firing].filter(([key]) => !known.has(key)).map(([, a]) => `${a.alert} fires${a.sale ? ` for ${a.sale}` : ''}. ${a.summary}`);
  const over = known && [...known.keys()].filter((key) => !firing.has(key)).map((key) => `${key.trim()} fires no longer.`);
  known = firing;
  if (fresh?.length || over?.length) $('alert-news').textContent = [...fresh, ...over].join(' ');
}
