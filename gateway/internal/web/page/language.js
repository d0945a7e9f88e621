// The words of the page, in the language that its reader chose.
const languages = Object.keys(WORDS);
const listeners = [];
let chosen = remembered('sluice.language') ?? navigator.languages?.map((l) => l.slice(0, 2).toLowerCase()).find((l) => languages.includes(l));
if (!languages.includes(chosen)) chosen = 'en';

// remembered reads what this browser keeps; null where it keeps nothing.
export function remembered(key, store = 'localStorage') {
  try { return window[store].getItem(key); } catch { return null; }
}

export function remember(key, value, store = 'localStorage') {
  try { value == null ? window[store].removeItem(key) : window[store].setItem(key, value); } catch { /* it is for this page alone then */ }
}

export const language = () => chosen;
export const onLanguage = (listener) => listeners.push(listener);

export function choose(l) {
  chosen = l;
  remember('sluice.language', l);
  for (const listener of listeners) listener();
}

export const has = (key) => key in WORDS[chosen];

// ofKind is the sentence for a kind of sale: of coupons there are some of their own.
export const ofKind = (kind, key) => (kind === 'coupon' && (has(`coupon.${key}`) || has(`coupon.${key}.other`)) ? `coupon.${key}` : key);

// say puts values into a sentence. With n the sentence may have a form for one.
export function say(key, values = {}) {
  const words = WORDS[chosen];
  const form = values.n == null ? '' : `.${new Intl.PluralRules(chosen).select(values.n) === 'one' ? 'one' : 'other'}`;
  const text = words[key + form] ?? words[key] ?? key;
  return text.replace(/{(\w+)}/g, (_, name) => (typeof values[name] === 'number' ? new Intl.NumberFormat(chosen).format(values[name]) : values[name] ?? ''));
}
