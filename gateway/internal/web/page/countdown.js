// A countdown by the shop's clock, and what is read out of it.
import { now } from './clock.js';
import { digits, span } from './format.js';
import { say } from './language.js';
import { el, put, set } from './dom.js';

export class Countdown {
  constructor() {
    this.element = el('div', { class: 'countdown', role: 'timer', 'aria-live': 'off' });
    this.shown = '';
    this.last = Infinity;
  }

  // show counts down to a moment, and says what it counts. It returns what is left.
  show(until, label) {
    const left = until - now(), parts = digits(left), shape = parts.map(([unit]) => unit).join();
    if (this.shown !== shape) {
      this.element.replaceChildren(...parts.map(() => el('span', { 'aria-hidden': 'true' }, el('b'), el('small'))));
      this.shown = shape;
    }
    parts.forEach(([unit, digit], i) => {
      put(this.element.children[i].firstChild, digit);
      put(this.element.children[i].lastChild, say(`unit.${unit}`));
    });
    // A screen reader that comes by hears it to the minute, not a name that changes each second.
    const name = `${label} ${span(left > 120000 ? Math.ceil(left / 60000) * 60000 : left)}`;
    if (Math.floor(left / 1000) !== this.named) set(this.element, 'aria-label', name);
    this.named = Math.floor(left / 1000);
    this.element.classList.toggle('near', left < 60000);
    return left;
  }

  // crossed is the mark that was passed since it was asked last: of ten minutes, one, ten seconds.
  crossed(left, marks = [600000, 60000, 10000]) {
    const passed = marks.filter((m) => left <= m && this.last > m && this.last < Infinity).at(-1);
    this.last = left;
    return passed;
  }
}
