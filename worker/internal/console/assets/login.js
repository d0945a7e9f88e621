// A link from another site (a chat, a mail) comes without the cookie, which is for this site
// alone. Whoever is signed in already is asked for nothing.
const answer = await fetch('/console/session').then((r) => r.json(), () => null);
if (answer?.signed_in) location.replace(location.pathname === '/console/login' ? '/console' : location.href);
