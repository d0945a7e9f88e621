// Follows tickets until nothing more is to be expected: the newest live, by the shop's stream
// of events, or by reads that wait where there is none; others by reads now and then.
import { call, headers, pause, read, sleep } from './calls.js';
import { session } from './session.js';
import { hear } from './clock.js';
import { awaited, note, take } from './tickets.js';

const silent = 40000; // milliseconds without a word, of a stream that says at least : alive
const longest = 25; // seconds that a read may wait
const following = new Map(); // ticket → {ticket, tag, wake}
let streams = true; // whether the shop has them
let streaming = null; // the one ticket that is streamed: a browser opens few connections to one host

// follow begins with a ticket that something is to be expected of.
export function follow(t) {
  const f = following.get(t.ticket);
  if (f) {
    f.ticket = t;
    return;
  }
  if (!awaited(t) || !session.token) return;
  const begun = { ticket: t, tag: null, broken: 0, wake: new AbortController() };
  following.set(t.ticket, begun);
  keepOn(begun).finally(() => {
    following.delete(t.ticket);
    if (streaming === begun) streaming = null;
  });
}

// wake has a ticket read at once, as after its payment; all of them without one.
export function wake(ticket) {
  for (const f of following.values()) if (!ticket || f.ticket.ticket === ticket) f.wake.abort();
}

export function endAll() {
  for (const f of following.values()) {
    f.ended = true;
    f.wake.abort();
  }
  following.clear();
  streaming = null;
}

async function keepOn(f) {
  while (!f.ended && session.token && awaited(f.ticket)) {
    if (f.wake.signal.aborted) f.wake = new AbortController();
    if (document.hidden) {
      if (streaming === f) streaming = null;
      await readOnce(f, 0);
    } else {
      streaming ??= f;
      if (streaming === f && streams && f.broken < 3) await stream(f);
      else await readOnce(f, streaming === f ? longest : 0);
    }
  }
}

// readOnce reads, and then waits as long as the shop asks for, less what the read took.
async function readOnce(f, wait) {
  const asked = performance.now(), signal = f.wake.signal;
  const answer = await call('GET', `/v1/tickets/${f.ticket.ticket}${wait ? `?wait=${wait}` : ''}`, { known: f.tag, patience: (wait + 15) * 1000, signal });
  if (signal.aborted) return;
  if (answer.status === 200) heard(f, answer.body, answer.tag);
  else if (answer.status === 304) calm(f);
  else return refused(f, answer);
  if (f.broken) f.broken -= 0.25; // a stream is tried again after some reads
  await sleep(Math.max(250, f.ticket.poll_after_ms - (performance.now() - asked)), signal);
}

function heard(f, body, tag) {
  f.tag = tag;
  f.tries = 0;
  f.ticket = take({ ...body, trouble: null });
}

function calm(f) {
  f.tries = 0;
  if (f.ticket.trouble) note(f.ticket, { trouble: null });
}

// refused waits and goes on, unless the answer is final.
async function refused(f, answer) {
  if (answer.status === 401) return;
  if (answer.problem === 'retired' || answer.problem === 'no-such-ticket') {
    f.ended = true;
    note(f.ticket, { gone: answer.problem, trouble: null });
    return;
  }
  f.tries = (f.tries ?? 0) + 1;
  if (f.tries > 1 || answer.status > 0) note(f.ticket, { trouble: answer.problem ?? 'unknown' });
  await sleep(pause(answer, f.tries - 1), f.wake.signal);
}

async function stream(f) {
  const control = new AbortController(), abort = () => control.abort();
  f.wake.signal.addEventListener('abort', abort, { once: true });
  document.addEventListener('visibilitychange', abort, { once: true });
  let watchdog = setTimeout(abort, silent);
  const begun = performance.now(), token = session.token, before = f.broken;
  f.broken++;
  try {
    const response = await fetch(`/v1/tickets/${f.ticket.ticket}/events`, {
      cache: 'no-store', credentials: 'omit', redirect: 'error', signal: control.signal,
      headers: headers({ Accept: 'text/event-stream', 'Last-Event-ID': f.tag }),
    });
    if (response.status !== 200 || !/^text\/event-stream/.test(response.headers.get('Content-Type') ?? '')) {
      const answer = await read(response, begun, token);
      if (answer.problem === 'not-found' || answer.problem === 'not-acceptable') streams = false; // an older shop
      else await refused(f, answer);
      return;
    }
    calm(f);
    await events(response.body, (event) => {
      clearTimeout(watchdog);
      watchdog = setTimeout(abort, silent);
      if (event?.name !== 'ticket') return;
      f.broken = 0;
      const body = JSON.parse(event.data);
      hear(body.server_time, begun, performance.now());
      heard(f, body, event.id);
    });
  } catch {
    if (f.wake.signal.aborted || document.hidden) f.broken = before; // it was ended here
  } finally {
    clearTimeout(watchdog);
    document.removeEventListener('visibilitychange', abort);
    control.abort();
  }
  if (awaited(f.ticket)) await sleep(500 + Math.random() * 1000, f.wake.signal);
}

// events hands over every event of a stream, and nothing for other signs of life.
async function events(body, each) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    each(null);
    for (const block of blocks) each(parse(block));
  }
}

function parse(block) {
  const event = { name: 'message', data: '', id: null };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = line.match(/^([^:]*):? ?(.*)$/);
    if (field === 'event') event.name = value;
    if (field === 'data') event.data += value;
    if (field === 'id') event.id = value;
  }
  return event;
}
