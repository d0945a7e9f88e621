// How numbers, times and durations are written, and how elements are made.
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export const unknown = '–';
export const count = (n) => (n == null ? unknown : whole.format(n));
export const rate = (n) => (n == null ? unknown : (n < 100 ? tenth : whole).format(n));

// span writes seconds.
export function span(s) {
  if (s == null) return unknown;
  if (s < 10) return `${tenth.format(s)} s`;
  if (s < 120) return `${whole.format(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 120) return `${m} min ${Math.floor(s % 60)} s`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} days`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const dateOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
export const time = (ms) => clock.format(ms);
export const utc = (ms) => new Date(ms).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');

// moment is a <time> in local time, with UTC as its title.
export function moment(ms, format = new Date(ms).getFullYear() === new Date().getFullYear() ? date : dateOfYear) {
  const e = el('time', {}, format.format(ms));
  e.dateTime = new Date(ms).toISOString();
  e.title = utc(ms);
  return e;
}
export const momentOfDay = (ms) => moment(ms, clock);

// drain is how long what waits will take, in words.
export function drain(waiting, draining, known) {
  if (waiting == null || waiting === 0 && !known) return unknown;
  if (waiting === 0) return 'nothing waits';
  if (draining == null) return unknown;
  return draining > 0 ? span(waiting / draining) : 'never at this rate';
}

export const states = {
  open: 'open', paused: 'paused', sold_out: 'sold out', scheduled: 'scheduled', closed: 'closed',
  rebuilding: 'rebuilding', not_loaded: 'not loaded',
};

// el makes an element; what is in it is text, never markup.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) if (v != null && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children.filter((c) => c != null));
  return e;
}

// put writes text only where it differs, so that nothing flickers and no selection is lost.
export function put(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// level is a bar that is filled to part, and marked when that is much.
export function setLevel(bar, part) {
  bar.firstElementChild.style.width = `${Math.min(100, Math.max(0, part * 100))}%`;
  bar.classList.toggle('late', part > 1);
  bar.classList.toggle('near', part > 0.6 && part <= 1);
}
export const level = () => el('span', { class: 'level', 'aria-hidden': 'true' }, el('i'));
