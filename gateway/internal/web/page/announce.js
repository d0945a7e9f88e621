// What is read out to those who do not look: one sentence at a time.
import { get } from './dom.js';

const waiting = [];
let busy = false;

export function announce(text) {
  if (waiting.at(-1) !== text) waiting.push(text);
  if (!busy) next();
}

function next() {
  const text = waiting.shift();
  busy = text != null;
  if (!busy) return;
  get('said').textContent = text;
  setTimeout(next, 1500);
}
