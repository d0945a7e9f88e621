// How money, moments and spans are written.
import { language, say } from './language.js';

const locale = () => ({ en: 'en', zh: 'zh-CN' })[language()] ?? language();

// money writes minor units.
export function money(minor, currency) {
  try {
    const format = new Intl.NumberFormat(locale(), { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
    return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return `${(minor / 100).toFixed(2)} ${currency}`;
  }
}

// moment writes a time of day, with the day when that is not today.
export function moment(ms, now) {
  const at = new Date(ms), today = new Date(now);
  const parts = { hour: '2-digit', minute: '2-digit' };
  if (at.toDateString() !== today.toDateString()) Object.assign(parts, { day: 'numeric', month: 'short' });
  if (at.getFullYear() !== today.getFullYear()) parts.year = 'numeric';
  return new Intl.DateTimeFormat(locale(), parts).format(at);
}

// span writes milliseconds in the two largest units, rounded up: nothing is over early.
export function span(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000)), parts = [['d', Math.floor(s / 86400)], ['h', Math.floor(s / 3600) % 24], ['m', Math.floor(s / 60) % 60], ['s', s % 60]];
  const first = parts.findIndex(([, n]) => n > 0);
  if (first < 0) return say('unit.s', { n: 0 });
  return parts.slice(first, first + 2).filter(([, n]) => n > 0).map(([unit, n]) => say(`unit.${unit}`, { n })).join(' ');
}

// digits are the numbers of a countdown, from days or hours on.
export function digits(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000)), two = (n) => String(n).padStart(2, '0');
  const all = [['days', String(Math.floor(s / 86400))], ['hours', two(Math.floor(s / 3600) % 24)], ['minutes', two(Math.floor(s / 60) % 60)], ['seconds', two(s % 60)]];
  return s >= 86400 ? all : s >= 3600 ? all.slice(1) : all.slice(2);
}

// expected says when an outcome is to be expected, from a range of seconds, as people would.
export function expected(eta) {
  if (!eta) return say('eta.unknown');
  if (eta.high <= 3) return say('eta.soon');
  const [unit, size] = eta.high < 90 ? ['seconds', 1] : eta.high < 5400 ? ['minutes', 60] : ['hours', 3600];
  const step = unit === 'seconds' && eta.high > 10 ? 5 : 1;
  const low = Math.floor(eta.low / size / step) * step, high = Math.ceil(eta.high / size / step) * step;
  const words = (n) => say(`eta.${unit}`, { n });
  if (low === 0) return say('eta.under', { high: words(high) });
  return low === high ? say('eta.about', { high: words(high) }) : say('eta.range', { low: new Intl.NumberFormat(locale()).format(low), high: words(high) });
}
