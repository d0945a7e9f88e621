// The local shop's sign-in.
import { say } from './language.js';
import { signIn } from './session.js';
import { tokenFor } from './pay.js';
import { get, put } from './dom.js';

let then = null;

// askName opens the form; next goes on once somebody is signed in.
export function askName(next = null) {
  then = next;
  put(get('signin-refused'), '');
  get('signin').showModal();
  get('signin-name').focus();
}

export function wordSignIn() {
  for (const [id, key] of [['signin-title', 'signin.title'], ['signin-more', 'signin.more'], ['signin-label', 'signin.name'], ['signin-go', 'signin.go'], ['signin-cancel', 'signin.cancel']]) {
    put(get(id), say(key));
  }
}

async function submit(event) {
  event.preventDefault();
  const answer = await tokenFor(get('signin-name').value.trim());
  if (!answer.token) {
    put(get('signin-refused'), say('signin.failed', { why: answer.problem === 'bad' ? say('signin.bad') : say('link.lost') }));
    get('signin-name').focus();
    return;
  }
  get('signin').close();
  signIn(answer.token);
  const next = then;
  then = null;
  next?.();
}

export function listenForSignIn() {
  get('signin-form').addEventListener('submit', submit);
  get('signin-cancel').onclick = () => get('signin').close();
}
