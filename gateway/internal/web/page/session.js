// Who buys: the token, from the address of the page or from a local sign-in. It stays in
// this tab and in those that ask it.
import { remember, remembered } from './language.js';

const kept = 'sluice.token';
const others = 'BroadcastChannel' in window ? new BroadcastChannel('sluice') : null;
const listeners = [];
let token = remembered(kept, 'sessionStorage'), over = false;

export const session = {
  get token() { return token; },
  get over() { return over; },
  // name is what the token calls its buyer; '' when there is none to be read.
  get name() { return claim('sub') ?? ''; },
};
export const onSession = (listener) => listeners.push(listener);

function claim(name) {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes))[name];
  } catch { return null; }
}

function changed() {
  for (const listener of listeners) listener();
}

export function signIn(t, tell = true) {
  token = t;
  over = false;
  remember(kept, t, 'sessionStorage');
  if (tell) others?.postMessage({ token: t });
  changed();
}

export function signOut() {
  token = null;
  over = false;
  remember(kept, null, 'sessionStorage');
  others?.postMessage({ out: true });
  changed();
}

// expired is for an answer that does not believe the token which was sent.
export function expired(sent) {
  if (sent !== token || !token) return;
  token = null;
  over = true;
  remember(kept, null, 'sessionStorage');
  changed();
}

// fromAddress takes a token out of the address, where nobody should find it later.
function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!given) return;
  history.replaceState(null, '', location.pathname + location.search);
  signIn(given);
}

export function beginSession() {
  if (others) {
    others.onmessage = ({ data }) => {
      if (data.ask && token) others.postMessage({ token });
      else if (data.token && data.token !== token && (!token || over)) signIn(data.token, false);
      else if (data.out && token) signOut();
    };
  }
  window.addEventListener('hashchange', fromAddress);
  fromAddress();
  if (!token) others?.postMessage({ ask: true });
}
