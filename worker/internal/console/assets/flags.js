// What is out of the ordinary with a sale.
import { count, momentOfDay, states } from './format.js';

// flagsOf lists it, each as a word or two for the list and a sentence for the details.
export function flagsOf(s) {
  const flags = [];
  const add = (short, long) => flags.push({ short, long });
  if (s.paused && s.state !== 'paused') add('paused', 'An operator paused it.');
  if (s.redis_state === 'unreachable') add('Redis silent', ['Redis does not answer; what it said is of ', s.redis_since ? momentOfDay(s.redis_since) : 'before', '.']);
  if (s.redis_state === 'stale' && s.state !== 'rebuilding') add('not live in Redis', 'Redis does not have the epoch that Postgres has: gateways answer 503 until a worker has rebuilt it.');
  if (s.redis?.sold_out && s.redis.stock > 0) add('flagged sold out', `Flagged as sold out, though ${count(s.redis.stock)} units are in stock.`);
  if (s.redis?.handoff > 0) add(`${count(s.redis.handoff)} not handed over`, `${count(s.redis.handoff)} reservations are not handed over to JetStream yet; the sweeper takes what is older than 5 s.`);
  if (s.releases_unapplied > 0) add(`${count(s.releases_unapplied)} releases open`, `${count(s.releases_unapplied)} releases are not applied in Redis yet.`);
  if (s.adjustments_unfinished > 0) add(`${count(s.adjustments_unfinished)} adjustments open`, `${count(s.adjustments_unfinished)} stock adjustments are not finished.`);
  return flags;
}

// meaning is what a state means to whoever reads it at night.
export function meaning(s) {
  return {
    open: 'Buyers can attempt.', paused: 'An operator paused it: attempts get 503, what was accepted is served.',
    sold_out: s.redis?.unpaid > 0 ? 'No unit is left; unpaid ones may return.' : 'No unit is left.',
    scheduled: 'It has not opened yet.', closed: 'Its window is over; what was accepted is served.',
    rebuilding: 'Its state in Redis is being made anew: gateways answer 503 meanwhile.',
    not_loaded: 'It is in Postgres only: warmup load brings it to Redis.',
  }[s.state] ?? states[s.state] ?? s.state;
}
