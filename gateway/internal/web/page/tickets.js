// The buyer's tickets, by sale, as the shop last said.
const bySale = new Map(); // sale id → Map of ticket → its body, newest first
const listeners = [];

export const onTicket = (listener) => listeners.push(listener);
export const ticketsOf = (sale) => [...(bySale.get(sale)?.values() ?? [])].sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
export const salesWithTickets = () => [...bySale.keys()].filter((id) => bySale.get(id).size > 0);

export const live = (t) => !t.gone && ['queued', 'confirmed', 'paid'].includes(t.status);
// payable is an order that awaits its payment: a coupon that is confirmed awaits nothing.
export const payable = (t) => !t.gone && t.status === 'confirmed' && !t.coupon_id;
export const awaited = (t) => !t.gone && (t.status === 'queued' || payable(t));

// take keeps what an answer says of a ticket, unless something newer is known.
export function take(t) {
  if (!bySale.has(t.sale)) bySale.set(t.sale, new Map());
  const known = bySale.get(t.sale), before = known.get(t.ticket);
  const older = (a, b) => Date.parse(a) < Date.parse(b);
  if (before && (older(t.updated_at, before.updated_at) || (t.updated_at === before.updated_at && older(t.server_time, before.server_time)))) return before;
  const next = { ...t, most: Math.max(before?.most ?? 0, t.ahead ?? 0) }; // most that were ahead
  known.set(t.ticket, next);
  for (const listener of listeners) listener(next, before);
  return next;
}

// note marks a ticket: {gone} with why it can no longer be read, {trouble} while it cannot be.
export function note(t, marks) {
  const known = bySale.get(t.sale)?.get(t.ticket);
  if (!known) return;
  const next = { ...known, ...marks };
  bySale.get(t.sale).set(t.ticket, next);
  for (const listener of listeners) listener(next, known);
}

// forget is for another buyer.
export const forget = () => bySale.clear();
