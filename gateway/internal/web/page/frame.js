// Everything around the sales: headings, who is signed in, languages, and what is wrong.
import { choose, language, say } from './language.js';
import { session, signOut } from './session.js';
import { link, refresh, sales } from './sales.js';
import { span } from './format.js';
import { canPay } from './pay.js';
import { askName } from './signin.js';
import { announce } from './announce.js';
import { get, put, set } from './dom.js';

let wasLost = false;

export function wordFrame() {
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : language();
  document.title = say('page.title');
  for (const [id, key] of [['skip', 'page.skip'], ['title', 'page.title'], ['lead', 'page.lead'], ['foot', 'page.foot'], ['link-try', 'link.try'], ['out', 'who.signout'], ['in', 'who.signin']]) {
    put(get(id), say(key));
  }
  set(get('languages'), 'aria-label', say('page.language'));
  set(get('sales'), 'aria-label', say('page.sales'));
  for (const b of get('languages').querySelectorAll('button')) set(b, 'aria-pressed', String(b.dataset.language === language()));
}

export function showWho() {
  const known = session.token != null;
  put(get('who'), known ? (session.name ? say('who.in', { name: session.name }) : say('who.known')) : say('who.out'));
  get('in').hidden = known || !canPay;
  get('out').hidden = !known;
  const needed = !known && (session.over || !canPay);
  get('who-notice').hidden = !needed;
  put(get('who-title'), needed ? say(session.over ? 'who.over' : 'who.needed') : '');
  put(get('who-more'), needed ? say(session.over ? (canPay ? 'who.over.local' : 'who.over.more') : 'who.needed.more') : '');
  get('notice-in').hidden = !canPay;
  put(get('notice-in'), say('who.signin'));
}

export function showLink() {
  get('link').hidden = !link.lost;
  put(get('link-title'), link.lost ? say('link.lost') : '');
  put(get('link-more'), link.lost ? say(navigator.onLine === false ? 'link.offline' : 'link.lost.more') : '');
  if (wasLost && !link.lost) announce(say('link.back'));
  wasLost = link.lost;
  const none = sales.size === 0;
  get('none').hidden = !none;
  put(get('none'), say(link.lost || link.next === 0 ? 'page.loading' : 'page.empty'));
  set(get('sales'), 'aria-busy', link.next === 0 ? 'true' : null);
}

export function tickLink() {
  if (link.lost) put(get('link-time'), say('link.again', { time: span(Math.max(0, link.next - performance.now())) }));
}

export function listenToFrame() {
  for (const b of get('languages').querySelectorAll('button')) b.onclick = () => choose(b.dataset.language);
  get('link-try').onclick = refresh;
  get('in').onclick = get('notice-in').onclick = () => askName();
  get('out').onclick = () => {
    signOut();
    (canPay ? get('in') : get('title')).focus();
  };
}
