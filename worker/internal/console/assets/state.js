// What the page knows: the newest frame, every sale by id, and how many alerts fire.
export const state = { frame: null, sales: new Map(), offset: 0, selected: null, firing: 0 };

// now is the worker's clock.
export const now = () => Date.now() + state.offset;

// take merges a frame: everything, or what has changed.
export function take(frame) {
  state.offset = frame.now - Date.now();
  if (frame.full) state.sales.clear();
  for (const s of frame.sales) state.sales.set(s.id, s);
  for (const id of frame.gone) state.sales.delete(id);
  state.frame = frame;
}

// ageOf is how long the oldest has waited, in seconds; null when that is not known.
export function ageOf(x) {
  if (x.oldest != null) return Math.max(0, (now() - x.oldest) / 1000);
  return x.age_known ? 0 : null;
}

// againstPromise says in words how an age stands, and what part of the promise it is.
export function againstPromise(age) {
  const promise = state.frame.promise_seconds;
  if (age == null || !promise) return { part: 0, word: '' };
  const part = age / promise;
  return { part, word: part > 1 ? 'late' : part > 0.6 ? 'close' : 'in time' };
}
