// The admin API's commands, for a shell that has the token: the page itself changes nothing.
import { el, put } from './format.js';

function call(method, path, data) {
  const post = method === 'POST' ? ' -X POST' : '', body = data ? ` \\\n-d '${data}'` : '';
  return `curl -s${post} -H "Authorization: Bearer $SLUICE_ADMIN_TOKEN" -H "Sluice-Operator: $USER"${body} \\\n"${location.origin}/admin/v1/${path}"`;
}

// ofSale are what may be done about a sale.
export const ofSale = (id) => listed([
  ['Stop new attempts', call('POST', `sales/${id}/pause`)],
  ['Take attempts again', call('POST', `sales/${id}/resume`)],
  ['Make its state in Redis anew', call('POST', `sales/${id}/rebuild`)],
  ['Add 10 units, once an id', call('POST', `sales/${id}/stock`, '{"adjustment_id": "restock-1", "delta": 10}')],
  ['Do the stores agree?', call('GET', `sales/${id}/audit?wait=10`)],
  ['Who changed what?', call('GET', `audit-log?sale=${id}`)],
  ['Close it early, for good', call('POST', `sales/${id}/close`)],
]);

// ofPace are what may be done about all workers at once.
export const ofPace = () => listed([
  ['Stop making orders, at every worker', call('POST', 'pace/pause')],
  ['Make orders again', call('POST', 'pace/resume')],
]);

const listed = (list) => [
  el('p', { class: 'soft' }, 'In a shell that has the admin token. Every change goes to the audit log.'),
  ...list.flatMap(([what, text]) => [el('div', { class: 'command' }, el('span', {}, what), copier(text, what)), el('pre', {}, text)]),
];

// copier is nothing where the browser gives no clipboard: on a page without TLS from afar.
function copier(text, what) {
  if (!navigator.clipboard) return null;
  const b = el('button', { type: 'button', 'aria-label': `Copy: ${what}` }, 'Copy');
  b.onclick = async () => {
    await navigator.clipboard.writeText(text).then(() => put(b, 'Copied'), () => put(b, 'Not copied'));
    setTimeout(() => put(b, 'Copy'), 2000);
  };
  return b;
}
