// The local shop's own ends: signing in without a password, and paying without money. Other
// shops have neither here.
import { call } from './calls.js';
import { wake } from './follow.js';

export const canPay = document.documentElement.dataset.local === 'true';
export const payments = new Map(); // order → sending, sent or failed
let changed = () => {};
export const onPayment = (listener) => { changed = listener; };

export async function pay(t) {
  if (['sending', 'sent'].includes(payments.get(t.order_id))) return;
  payments.set(t.order_id, 'sending');
  changed(t.sale);
  const answer = await call('POST', '/local/payment', { json: { order_id: t.order_id, amount: t.amount, currency: t.currency } });
  payments.set(t.order_id, answer.status === 200 ? 'sent' : 'failed');
  changed(t.sale);
  if (answer.status === 200) wake(t.ticket);
}

// tokenFor signs a name in: {token}, or {why}.
export async function tokenFor(user) {
  const answer = await call('POST', '/local/token', { json: { user } });
  if (answer.status === 200) return answer.body;
  return { problem: answer.status === 400 ? 'bad' : answer.problem ?? 'lost' };
}
