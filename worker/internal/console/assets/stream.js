// The connection: events once a second, and what is said when they stop.
import { put, time, span } from './format.js';
import { state } from './state.js';

const lateAfter = 4000; // without an event
const deadAfter = 12000; // without one: a connection that broke unseen, as a phone's does, stays open
let source, last = 0, tried = 0, retry, why = '';

const root = document.documentElement;
const words = document.getElementById('link-text'), aside = document.getElementById('link-time');

// show says how the connection is; what changes every second stands beside what is read out.
function show(link, text, moment = '') {
  if (root.dataset.link !== link) root.dataset.link = link;
  put(words, text);
  put(aside, moment);
  const title = `${link === 'lost' || link === 'over' ? 'Not live: ' : ''}${state.firing ? `(${state.firing}) ` : ''}Sluice on call`;
  if (document.title !== title) document.title = title;
}

// connect hands every frame to take, and comes back by itself when the stream ends.
function connect(take) {
  clearTimeout(retry);
  source?.close();
  tried = Date.now();
  source = new EventSource('/console/events');
  source.onmessage = (e) => {
    take(JSON.parse(e.data));
    last = Date.now();
    why = '';
    show('live', 'Live', time(last));
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) again(take);
  };
}

// again is for what the browser does not try again by itself: an answer that is no stream.
async function again(take) {
  retry = setTimeout(() => connect(take), 1500 + Math.random() * 1500);
  const session = await fetch('/console/session').then((r) => r.json(), () => null);
  if (session && !session.signed_in) {
    clearTimeout(retry);
    last = -1;
    show('over', 'Your session is over: reload to sign in');
  }
  why = session?.full ? 'Too many pages are open at this worker: close one, or ask another' : '';
}

// keep has the page say that the connection is lost, and open another.
export function keep(take) {
  connect(take);
  setInterval(() => {
    if (last < 0) return;
    const silent = Date.now() - last;
    if (last === 0) show('connecting', why || 'Connecting…');
    else if (silent > lateAfter) show('lost', `Connection lost since ${time(last)}`, span(Math.round(silent / 1000)));
    if (silent > deadAfter && Date.now() - tried > deadAfter) connect(take);
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && last > 0 && Date.now() - last > lateAfter) connect(take); // whoever looks again need not wait
  });
}
