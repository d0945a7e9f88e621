// One ticket of the buyer: its place, its time to pay, how it ended.
import { has, ofKind, say } from './language.js';
import { expected, money, moment, span } from './format.js';
import { now } from './clock.js';
import { announce } from './announce.js';
import { Countdown } from './countdown.js';
import { el, focus, put, set } from './dom.js';
import { canPay, pay, payments } from './pay.js';
import { payable } from './tickets.js';

const steps = ['queued', 'confirmed', 'paid']; // a coupon is there at the second

export class TicketView {
  constructor(id) {
    this.title = el('h3', { id: `${id}-status` });
    this.steps = el('ol', { class: 'steps' }, ...steps.map(() => el('li')));
    this.more = el('p', { class: 'soft' });
    this.bar = el('div', { class: 'progress', 'aria-hidden': 'true' }, el('i'));
    this.ahead = el('dd');
    this.eta = el('dd');
    this.queue = el('dl', { class: 'facts' }, el('div', {}, el('dt'), this.ahead), el('div', {}, el('dt'), this.eta));
    this.countdown = new Countdown();
    this.left = el('p', { class: 'soft' });
    this.pay = el('button', { class: 'main pay', type: 'button' });
    this.paid = el('p', { class: 'soft' });
    this.order = el('p', { class: 'soft order' });
    this.payment = el('div', { class: 'payment' }, this.left, this.countdown.element, this.pay, this.paid);
    this.trouble = el('p', { class: 'trouble' });
    this.element = el('section', { class: 'ticket', 'aria-labelledby': this.title.id },
      this.title, this.steps, this.more, this.bar, this.queue, this.payment, this.order, this.trouble);
    this.pay.onclick = () => pay(this.ticket);
  }

  show(t, sale) {
    const before = this.ticket;
    this.ticket = t;
    const words = (key) => say(ofKind(sale.kind, key));
    const status = t.gone ? 'gone' : t.status;
    set(this.element, 'data-status', status);
    set(this.element, 'data-coupon', t.coupon_id ? '' : null);
    put(this.title, words(t.gone ? `problem.${t.gone}` : `status.${t.status}`));
    put(this.more, words(t.gone ? `problem.${t.gone}.more` : t.reason && has(`reason.${t.reason}`) ? `reason.${t.reason}` : `status.${t.status}.more`));
    this.showSteps(t, sale);
    this.showQueue(t);
    this.showPayment(t);
    put(this.order, t.coupon_id ? `${say('coupon.number')} ${t.coupon_id}` : t.order_id ? `${say('pay.order')} ${t.order_id}` : '');
    this.order.hidden = !t.order_id && !t.coupon_id;
    put(this.trouble, t.trouble ? `${say(has(`problem.${t.trouble}`) ? `problem.${t.trouble}.more` : 'link.lost.more')} ${say('trouble.stale')}` : '');
    this.trouble.hidden = !t.trouble;
    if (before && (before.status !== t.status || before.gone !== t.gone)) this.tell(t, sale);
  }

  // tell reads out what has become of it, and keeps the focus where something was.
  tell(t, sale) {
    announce(`${sale.title}: ${this.title.textContent}. ${this.more.textContent}`);
    if (this.element.contains(document.activeElement)) focus(this.title);
  }

  showSteps(t, sale) {
    const at = steps.indexOf(t.status), last = sale.kind === 'coupon' ? 1 : 2;
    this.steps.hidden = at < 0 || Boolean(t.gone);
    [...this.steps.children].forEach((li, i) => {
      put(li, say(ofKind(sale.kind, `step.${steps[i]}`)));
      li.hidden = i > last;
      set(li, 'data-done', i < at || at === last ? '' : null);
      set(li, 'aria-current', i === at ? 'step' : null);
    });
  }

  showQueue(t) {
    const queued = t.status === 'queued' && !t.gone;
    this.queue.hidden = this.bar.hidden = !queued;
    if (!queued) return;
    put(this.queue.children[0].firstChild, say('queue.ahead'));
    put(this.queue.children[1].firstChild, say('queue.eta'));
    const ahead = t.ahead == null ? say('queue.unknown') : t.ahead === 0 ? say('queue.next') : say('queue.people', { n: t.ahead });
    put(this.ahead, ahead);
    put(this.eta, expected(t.eta));
    this.bar.hidden = t.ahead == null;
    this.bar.firstChild.style.width = `${t.most ? Math.round(100 - 92 * (t.ahead / t.most)) : 100}%`;
  }

  // moved says how far it is, now and then: when half of those ahead have gone.
  moved(sale) {
    const t = this.ticket;
    if (t.status !== 'queued' || t.gone || !t.ahead) return;
    if (this.told && t.ahead > this.told / 2) return;
    this.told = t.ahead;
    announce(say('queue.moved', { title: sale.title, ahead: say('queue.people', { n: t.ahead }) }));
  }

  showPayment(t) {
    this.payment.hidden = !payable(t);
    if (!payable(t)) return;
    const payment = payments.get(t.order_id), amount = money(t.amount, t.currency);
    this.pay.hidden = !canPay;
    put(this.pay, payment === 'sending' ? say('pay.paying') : say('pay.now', { amount }));
    set(this.pay, 'aria-disabled', payment === 'sending' || payment === 'sent' ? 'true' : null);
    put(this.paid, payment === 'sent' ? say('pay.sent') : payment === 'failed' ? say('pay.failed') : canPay ? '' : `${say('pay.amount')}: ${amount}. ${say('pay.shop')}`);
  }

  tick(sale) {
    const t = this.ticket;
    if (!payable(t)) return;
    const until = Date.parse(t.pay_by), left = this.countdown.show(until, say('pay.left'));
    const over = left <= 0;
    put(this.left, over ? say('pay.over') : `${say('pay.left')} · ${say('pay.by', { time: moment(until, now()) })}`);
    this.countdown.element.hidden = over;
    this.pay.hidden = over || !canPay;
    const mark = this.countdown.crossed(left);
    if (mark) announce(say('pay.warn', { title: sale.title, time: span(mark) }));
  }
}
