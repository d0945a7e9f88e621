// One sale: what it is, when it opens, the button, and what the buyer has of it.
import { has, ofKind, say } from './language.js';
import { money, moment, span } from './format.js';
import { known, now } from './clock.js';
import { stateOf } from './sales.js';
import { attempts, stop, verdicts } from './attempt.js';
import { live, ticketsOf } from './tickets.js';
import { announce } from './announce.js';
import { Countdown } from './countdown.js';
import { TicketView } from './ticketview.js';
import { el, focus, put, set } from './dom.js';

// hue is a colour for a picture that there is none of.
const hue = (text) => [...text].reduce((h, c) => (h * 31 + c.codePointAt(0)) % 360, 7);

export class Card {
  constructor(sale, onBuy) {
    this.sale = sale;
    this.tickets = new Map();
    const id = `sale-${sale.id}`;
    this.art = el('div', { class: 'art decor', 'aria-hidden': 'true' }, el('span'));
    this.art.style.setProperty('--hue', hue(sale.sku));
    this.state = el('p', { class: 'badge' });
    this.title = el('h2', { id: `${id}-title` });
    this.price = el('p', { class: 'price' });
    this.facts = el('p', { class: 'soft facts-line' }, el('span', { class: 'stock' }), el('span'), el('span'));
    this.opening = el('p', { class: 'soft', id: `${id}-opening` });
    this.countdown = new Countdown();
    this.buy = el('button', { class: 'main buy', type: 'button', 'aria-describedby': `${id}-why` }, el('span'), el('span', { class: 'unseen' }));
    this.why = el('p', { class: 'soft', id: `${id}-why` });
    this.trying = el('div', { class: 'trying' }, el('strong'), el('p', { class: 'soft' }), el('p', { class: 'soft', 'aria-live': 'off' }), el('button', { type: 'button', class: 'quiet' }));
    this.verdict = el('div', { class: 'verdict', id: `${id}-verdict` }, el('h3'), el('p'), el('button', { type: 'button', class: 'quiet' }));
    this.mine = el('div', { class: 'mine' });
    this.element = el('article', { class: 'card', 'aria-labelledby': this.title.id, 'data-sale': sale.id, 'data-kind': sale.kind }, this.art,
      el('div', { class: 'body' }, el('div', { class: 'head' }, this.title, this.state), this.price, this.facts, this.mine, this.trying, this.verdict,
        el('div', { class: 'action' }, this.opening, this.countdown.element, this.buy, this.why)));
    this.buy.onclick = () => { if (this.buy.getAttribute('aria-disabled') !== 'true') onBuy(this.sale); };
    this.trying.lastChild.onclick = () => stop(this.sale.id);
    this.verdict.lastChild.onclick = () => { verdicts.delete(this.sale.id); this.show(this.sale); (this.buy.hidden ? focus(this.title) : this.buy.focus()); };
  }

  // say is as in language.js, in the words for what is sold.
  say(key, values) {
    return say(ofKind(this.sale.kind, key), values);
  }

  show(sale) {
    this.sale = sale;
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    put(this.title, sale.title);
    put(this.art.firstChild, [...sale.title.trim().replace(/^(the|a|an) /i, '')][0]?.toUpperCase() ?? '');
    put(this.price, sale.kind === 'coupon' ? say('coupon') : money(sale.price, sale.currency));
    put(this.facts.children[1], this.say('sale.limit', { n: sale.per_user_limit }));
    this.showTickets();
    this.showTrying();
    this.showVerdict();
    this.showState();
    // What had the focus may be gone: the buyer's place is what the click led to.
    if (focused && !focused.getClientRects().length) focus(this.newest()?.title ?? (this.verdict.hidden ? this.title : this.verdict.firstChild));
  }

  newest() {
    const t = ticketsOf(this.sale.id)[0];
    return t && this.tickets.get(t.ticket);
  }

  showState() {
    const state = stateOf(this.sale), before = this.before;
    this.before = state;
    set(this.element, 'data-state', state);
    put(this.state, this.say(`state.${state}`));
    const stock = state === 'open'; // of a paused one, such as in a rebuild, it says little
    set(this.facts.firstChild, 'data-left', this.sale.availability);
    put(this.facts.firstChild, stock ? this.say(`availability.${this.sale.availability}`) : '');
    this.facts.firstChild.hidden = !stock;
    put(this.facts.lastChild, this.window(state));
    if (before && before !== state) this.tell(before, state);
    this.showButton(state);
    this.tick();
  }

  window(state) {
    if (!known()) return '';
    if (state === 'scheduled') return '';
    return say(state === 'closed' ? 'sale.closed' : 'sale.closes', { time: moment(Math.min(Date.parse(this.sale.closes_at), state === 'closed' ? now() : Infinity), now()) });
  }

  tell(before, state) {
    const title = this.sale.title;
    if (state === 'open') announce(this.say(before === 'sold_out' ? 'sale.returned' : 'sale.now', { title }));
    if (state === 'sold_out' && !verdicts.has(this.sale.id)) announce(this.say('sale.soldout', { title }));
    if (state === 'paused') announce(this.say('sale.paused', { title }));
  }

  // showButton offers to buy where that can lead to something.
  showButton(state) {
    const held = ticketsOf(this.sale.id).filter(live).length, full = held >= this.sale.per_user_limit;
    const attempt = attempts.get(this.sale.id), verdict = verdicts.get(this.sale.id);
    const late = verdict?.until > now();
    this.buy.hidden = (full && !attempt) || this.sale.gone || state === 'closed' || (held > 0 && state !== 'open' && !attempt);
    const words = attempt ? (attempt.phase === 'sending' ? 'buy.sending' : 'buy.waiting') : state === 'scheduled' || late ? 'buy.scheduled'
      : state === 'open' ? (held > 0 ? 'buy.another' : verdict ? 'buy.again' : 'buy') : `state.${state}`;
    put(this.buy.firstChild, this.say(words));
    put(this.buy.lastChild, ` – ${this.sale.title}`);
    set(this.buy, 'aria-disabled', attempt || state !== 'open' || late ? 'true' : null);
    const more = this.sale.gone ? 'sale.gone' : has(`state.${state}.more`) && !attempt && !verdict && held === 0 ? `state.${state}.more` : null;
    put(this.why, more ? this.say(more) : '');
    this.why.hidden = !more;
  }

  showTrying() {
    const a = attempts.get(this.sale.id);
    const quiet = !a || (a.phase === 'sending' && !a.why);
    this.trying.hidden = quiet;
    if (quiet) return;
    const name = a.why === 'unknown' ? 'buy.unknown' : `problem.${a.why}`;
    put(this.trying.children[0], a.phase === 'asking' ? say('buy.asking') : this.say(has(name) ? name : 'problem.other'));
    put(this.trying.children[1], a.phase === 'asking' ? '' : this.say(has(`${name}.more`) ? `${name}.more` : 'problem.unavailable.more'));
    put(this.trying.children[3], say('buy.stop'));
    if (a.phase === 'waiting' && this.saidWhy !== a.why) announce(`${this.sale.title}: ${this.trying.children[0].textContent}. ${this.trying.children[1].textContent}`);
    this.saidWhy = a.why;
  }

  showVerdict() {
    const v = verdicts.get(this.sale.id);
    this.verdict.hidden = !v;
    if (!v) {
      this.judged = null;
      return;
    }
    const [title, more] = wordsOf(v, (key) => this.say(key));
    put(this.verdict.children[0], title);
    put(this.verdict.children[1], more);
    put(this.verdict.children[2], say('buy.dismiss'));
    set(this.verdict, 'data-problem', v.problem);
    if (this.judged !== v) announce(`${this.sale.title}: ${title}. ${more}`);
    this.judged = v;
  }

  showTickets() {
    const tickets = ticketsOf(this.sale.id);
    for (const t of tickets) {
      if (!this.tickets.has(t.ticket)) {
        const view = new TicketView(`ticket-${t.ticket.split('.')[0]}`);
        this.tickets.set(t.ticket, view);
        this.mine.append(view.element);
      }
      this.tickets.get(t.ticket).show(t, this.sale);
    }
    for (const [id, view] of this.tickets) {
      if (tickets.some((t) => t.ticket === id)) continue;
      view.element.remove();
      this.tickets.delete(id);
    }
    const order = tickets.map((t) => this.tickets.get(t.ticket).element);
    if (order.some((e, i) => this.mine.children[i] !== e)) this.mine.replaceChildren(...order);
    this.mine.hidden = tickets.length === 0;
    set(this.element, 'data-mine', tickets.some(live) ? '' : null);
  }

  // tick is what changes with the clock alone.
  tick() {
    const scheduled = known() && stateOf(this.sale) === 'scheduled';
    this.opening.hidden = this.countdown.element.hidden = !scheduled;
    if (scheduled) {
      const at = Date.parse(this.sale.opens_at), left = this.countdown.show(at, say('sale.in'));
      put(this.opening, say('sale.opens', { time: moment(at, now()) }));
      const mark = this.countdown.crossed(left);
      if (mark) announce(`${this.sale.title}: ${say('sale.opening', { time: span(mark) })}`);
    }
    if (this.before !== stateOf(this.sale)) this.showState();
    const a = attempts.get(this.sale.id), v = verdicts.get(this.sale.id);
    put(this.trying.children[2], a?.phase === 'waiting' ? say('buy.next', { time: span(Math.max(0, a.until - performance.now())) }) : '');
    if (v?.until && v.until <= now()) { delete v.until; this.show(this.sale); }
    for (const view of this.tickets.values()) view.tick(this.sale);
  }
}

// wordsOf a verdict, its title and what to do; the shop's own where the page has none.
function wordsOf(v, say) {
  if (v.problem === 'stopped') return [say('buy.stop'), say('buy.stopped')];
  if (v.problem === 'replay') return [say('tickets.mine'), say('buy.replay')];
  const name = `problem.${v.problem}`;
  if (!has(name)) return [v.words?.title ?? say('problem.other'), v.words?.detail ?? ''];
  if (v.reason && has(`${name}.${v.reason}`)) return [say(name), say(`${name}.${v.reason}`)];
  return [say(name), say(v.returns ? `${name}.returns` : `${name}.more`)];
}
