// Wires the page.
import { onLanguage, say } from './language.js';
import { beginSession, onSession, session } from './session.js';
import { keep, refresh, resync, sales, stateOf } from './sales.js';
import { attempts, buy, forgetAttempts, lookUp, onAttempt, pending, verdicts } from './attempt.js';
import { awaited, forget, onTicket, payable, salesWithTickets, ticketsOf } from './tickets.js';
import { endAll, follow, wake } from './follow.js';
import { canPay, onPayment, payments } from './pay.js';
import { askName, listenForSignIn, wordSignIn } from './signin.js';
import { listenToFrame, showLink, showWho, tickLink, wordFrame } from './frame.js';
import { Card } from './card.js';
import { get } from './dom.js';

const cards = new Map(); // by sale
const lookedUp = new Set();
let buyer = null;

const rank = (s) => (ticketsOf(s.id).some(awaited) ? 0 : 1 + ['open', 'scheduled', 'paused', 'sold_out', 'closed'].indexOf(stateOf(s)));

// show draws every sale. The order is that of the first time: nothing moves under a thumb.
function show() {
  const fresh = [...sales.values()].filter((s) => !cards.has(s.id)).sort((a, b) => rank(a) - rank(b) || Date.parse(a.opens_at) - Date.parse(b.opens_at) || (a.id < b.id ? -1 : 1));
  for (const s of fresh) {
    const card = new Card(s, tryToBuy);
    cards.set(s.id, card);
    get('sales').append(card.element);
  }
  for (const [id, card] of cards) {
    if (sales.has(id)) card.show(sales.get(id));
    else {
      card.element.remove();
      cards.delete(id);
    }
  }
  showLink();
  titleOfTab();
  lookAtMine();
}

const showOne = (id) => {
  if (cards.has(id) && sales.has(id)) cards.get(id).show(sales.get(id));
  titleOfTab();
};

// titleOfTab tells who looks at another tab that something is to be done here.
function titleOfTab() {
  const all = salesWithTickets().flatMap(ticketsOf);
  const first = all.find(payable) ?? all.find((t) => t.status === 'queued' && !t.gone);
  const title = first ? `${say(`status.${first.status}`)} · ${say('page.title')}` : say('page.title');
  if (document.title !== title) document.title = title;
}

function tryToBuy(s) {
  if (session.token) buy(s);
  else if (canPay) askName(() => buy(s));
  else {
    verdicts.set(s.id, { problem: 'unauthenticated' });
    showOne(s.id);
  }
}

// lookAtMine asks for the buyer's tickets, one sale after the other, once each: after a
// reload, in another tab, after signing in.
let looking = false;
async function lookAtMine() {
  if (looking) return;
  looking = true;
  for (const s of [...sales.values()]) {
    if (!session.token || lookedUp.has(s.id) || (stateOf(s) === 'scheduled' && !pending(s.id))) continue;
    lookedUp.add(s.id);
    const found = await lookUp(s.id);
    if (!Array.isArray(found)) {
      if (found === null) lookedUp.delete(s.id);
      continue;
    }
    const key = pending(s.id);
    if (key && !attempts.has(s.id)) buy(s, key); // a click before the reload, without an answer yet
    showOne(s.id);
  }
  looking = false;
}

function sessionChanged() {
  lookedUp.clear();
  endAll();
  if (session.token && buyer !== null && session.name !== buyer) forgetBuyer();
  if (!session.token && !session.over) forgetBuyer();
  if (session.token) buyer = session.name;
  for (const [id, v] of verdicts) if (v.problem === 'unauthenticated' && session.token) verdicts.delete(id);
  showWho();
  show();
}

function forgetBuyer() {
  forget();
  forgetAttempts();
  payments.clear();
  buyer = null;
}

function languageChanged() {
  wordFrame();
  wordSignIn();
  showWho();
  show();
  refresh();
}

function tick() {
  for (const card of cards.values()) card.tick();
  tickLink();
  resync();
}

onLanguage(languageChanged);
onSession(sessionChanged);
onAttempt(showOne);
onPayment(showOne);
onTicket((t) => {
  if (awaited(t)) follow(t);
  if (t.gone === 'retired') refresh(); // its sale is listed no longer: nothing is offered of it
  showOne(t.sale);
  cards.get(t.sale)?.tickets.get(t.ticket)?.moved(sales.get(t.sale));
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) wake(); });
listenToFrame();
listenForSignIn();
wordFrame();
wordSignIn();
beginSession();
buyer = session.token ? session.name : null;
showWho();
showLink();
setInterval(tick, 200);
keep(show);
document.documentElement.dataset.ready = 'true';
