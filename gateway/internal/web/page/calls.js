// One call of the shop.
import { language } from './language.js';
import { session, expired } from './session.js';
import { hear } from './clock.js';

export const sleep = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
});

// pause is how long to wait before trying again: what the answer says, never less, and else
// longer each time; spread, so that those who were refused together do not come back together.
export function pause(answer, tries) {
  if (answer?.retryAfter) return answer.retryAfter * (1 + Math.random() / 4);
  return Math.min(15000, 1000 * 2 ** Math.min(tries, 4)) * (0.75 + Math.random() / 2);
}

export function headers(extra) {
  const h = { 'Accept-Language': language(), ...extra };
  if (session.token) h.Authorization = `Bearer ${session.token}`;
  for (const name of Object.keys(h)) if (h[name] == null) delete h[name];
  return h;
}

// call answers {status, body, tag, retryAfter}; {status: 0} when it is not known whether the
// shop heard it. body is a problem when problem is its name.
export async function call(method, path, { key, known, json, patience = 15000, signal } = {}) {
  const token = session.token, sent = performance.now();
  const limit = new AbortController(), end = () => limit.abort(), timer = setTimeout(end, patience);
  signal?.addEventListener('abort', end, { once: true });
  try {
    const response = await fetch(path, {
      method, cache: 'no-store', credentials: 'omit', redirect: 'error', body: json && JSON.stringify(json),
      headers: headers({ 'Idempotency-Key': key && `"${key}"`, 'If-None-Match': known, 'Content-Type': json && 'application/json' }),
      signal: limit.signal,
    });
    return await read(response, sent, token);
  } catch {
    return { status: 0 };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

// read takes an answer apart. What is no answer of the shop, such as a proxy's page, leaves
// it open whether the shop heard the call.
export async function read(response, sent, token) {
  const answer = { status: response.status, tag: response.headers.get('ETag'), retryAfter: Number(response.headers.get('Retry-After')) * 1000 || 0 };
  if (response.status === 304 || response.status === 204) return answer;
  const received = performance.now();
  if (!/json/.test(response.headers.get('Content-Type') ?? '')) return { status: 0 };
  answer.body = await response.json();
  if (response.status >= 400) {
    answer.problem = String(answer.body.type ?? '').replace('/problems/', '');
    if (response.status === 401) expired(token);
  }
  for (const told of [answer.body, answer.body.ticket, ...(answer.body.sales ?? []), ...(answer.body.tickets ?? [])]) {
    if (told?.server_time) hear(told.server_time, sent, received);
  }
  return answer;
}
