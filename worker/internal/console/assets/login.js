// A link from another site (a chat, a mail) comes without the cookie, which is for this site
// alone. Whoever is signed in already is asked for nothing. The place on the page that was
// asked for, such as an alert in the runbook, is known to the browser alone: it keeps it
// through the form and where that leads.
const form = document.querySelector('form');
form.action += location.hash;
const answer = await fetch('/console/session').then((r) => r.json(), () => null);
if (answer?.signed_in) {
  if (location.pathname === form.to.value) location.reload(); // to replace it by itself would only scroll
  else location.replace(form.to.value + location.hash);
}
