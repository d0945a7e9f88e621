// A click on buy, until it has an answer that stands.
import { call, pause, sleep } from './calls.js';
import { session } from './session.js';
import { now } from './clock.js';
import { remember, remembered } from './language.js';
import { live, take, ticketsOf } from './tickets.js';

// Each click has a key; it is kept until its answer is known, through a reload too.
const keptKeys = 'sluice.pending';
const keys = (() => { try { return JSON.parse(remembered(keptKeys, 'sessionStorage')) ?? {}; } catch { return {}; } })();
export const pending = (id) => keys[id] ?? null;

function keep(id, key) {
  if (key) keys[id] = key;
  else delete keys[id];
  remember(keptKeys, JSON.stringify(keys), 'sessionStorage');
}

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

// attempts by sale: {phase: sending, waiting or asking; why; until, by performance.now}.
export const attempts = new Map();
// verdicts by sale: how the last click ended when it has no ticket: {problem, reason, returns},
// or stopped; until when it is no use to click again.
export const verdicts = new Map();
let changed = () => {};
export const onAttempt = (listener) => { changed = listener; };

export function stop(id) {
  attempts.get(id)?.control.abort();
}

export function forgetAttempts() {
  for (const id of attempts.keys()) stop(id);
  verdicts.clear();
  for (const id of Object.keys(keys)) keep(id, null);
}

// buy makes one attempt for one unit. A key of a click before goes on with that click.
export async function buy(sale, key = newKey()) {
  if (attempts.has(sale.id)) return;
  const attempt = { phase: 'sending', why: null, until: 0, control: new AbortController() };
  attempts.set(sale.id, attempt);
  verdicts.delete(sale.id);
  keep(sale.id, key);
  changed(sale.id);
  const had = new Set(ticketsOf(sale.id).map((t) => t.ticket));
  const verdict = await tryOn(sale, key, attempt, had);
  attempts.delete(sale.id);
  if (verdict?.problem !== 'unauthenticated') keep(sale.id, null); // who signs in again goes on with it
  if (verdict) verdicts.set(sale.id, verdict);
  changed(sale.id);
}

async function tryOn(sale, key, attempt, had) {
  for (let tries = 0; ; tries++) {
    show(sale, attempt, 'sending');
    const answer = await call('POST', `/v1/sales/${sale.id}/orders`, { key, signal: attempt.control.signal });
    if (attempt.control.signal.aborted) return stopped(sale, had);
    const verdict = await judge(sale, answer, attempt, had);
    if (verdict !== undefined) return verdict;
    const wait = pause(answer, tries);
    show(sale, attempt, 'waiting', answer.problem ?? 'unknown', wait);
    await sleep(wait, attempt.control.signal);
    if (attempt.control.signal.aborted) return stopped(sale, had);
  }
}

function show(sale, attempt, phase, why = attempt.why, wait = 0) {
  Object.assign(attempt, { phase, why, until: performance.now() + wait });
  changed(sale.id);
}

// stopped looks once more: the shop may have heard what the buyer gave up on.
async function stopped(sale, had) {
  const answer = await askForTickets(sale.id);
  return won(sale, had, answer) ? null : { problem: 'stopped' };
}

const askForTickets = (id, options) => call('GET', `/v1/sales/${id}/tickets/me`, options);

// won takes the tickets of an answer, and says whether one is new and alive.
function won(sale, had, answer) {
  if (answer.status !== 200) return false;
  return answer.body.tickets.map(take).some((t) => live(t) && !had.has(t.ticket));
}

// judge is null when there is a ticket, a verdict when it is no, undefined when to try again.
async function judge(sale, answer, attempt, had) {
  const ticket = answer.status < 300 ? answer.body : answer.body?.ticket;
  if (answer.status > 0 && ticket) {
    take(ticket);
    return ticket.replay && had.has(ticket.ticket) ? { problem: 'replay' } : null;
  }
  if (answer.status === 0 || answer.status === 429 || answer.status === 408 || answer.status >= 500) return undefined;
  switch (answer.problem) {
    case 'sold-out': case 'closed': case 'limit-reached':
      return believed(sale, answer, attempt, had);
    case 'not-open':
      sale.opens_at = answer.body.opens_at;
      sale.state = 'scheduled';
      return { problem: 'not-open', until: now() + answer.retryAfter };
    default:
      return { problem: answer.problem, reason: answer.body.reason, words: answer.body };
  }
}

// believed asks for the buyer's tickets before a refusal that came from memory: an earlier
// click, or this one with its answer lost, may have won.
async function believed(sale, refusal, attempt, had) {
  for (let tries = 0; ; tries++) {
    show(sale, attempt, 'asking', refusal.problem);
    const answer = await askForTickets(sale.id, { signal: attempt.control.signal });
    if (attempt.control.signal.aborted) return { problem: 'stopped' };
    if (won(sale, had, answer)) return null;
    if (answer.status > 0 && answer.status < 500 && answer.status !== 429) {
      if (refusal.problem === 'sold-out' && sale.state === 'open') sale.state = 'sold_out';
      const problem = answer.status === 401 ? 'unauthenticated' : refusal.problem;
      return { problem, returns: refusal.body.may_return };
    }
    await sleep(pause(answer, tries), attempt.control.signal);
  }
}

// lookUp reads what the buyer has of a sale, until the shop answers.
export async function lookUp(id) {
  for (let tries = 0; session.token && tries < 30; tries++) {
    const answer = await askForTickets(id);
    if (answer.status === 200) return answer.body.tickets.map(take);
    if (answer.status > 0 && answer.status < 500 && answer.status !== 429) return answer.problem;
    await sleep(pause(answer, tries));
  }
  return null;
}
