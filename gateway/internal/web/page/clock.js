// The shop's time: what its answers say, carried on by this device's monotonic clock. What
// the device thinks the time of day is never matters.
const drift = 2e-4; // that a monotonic clock may run fast: what was heard long ago is trusted less
const slack = 2000; // milliseconds that an answer may have lain in a cache
let least = -Infinity, most = Infinity, at = 0; // the shop's time less this clock's lies between; since when

// hear takes the server_time of an answer that was asked for at sent and came at received.
export function hear(serverTime, sent, received) {
  const time = Date.parse(serverTime);
  if (Number.isNaN(time)) return;
  const low = time - received, high = time - sent + slack, aged = (received - at) * drift;
  if (low > most + aged || high < least - aged) { // a clock was set, or this device slept
    least = low;
    most = high;
  } else {
    least = Math.max(low, least - aged);
    most = Math.min(high, most + aged);
  }
  at = received;
}

export const known = () => least > -Infinity;

// now is never ahead of the shop's: nothing opens here before it opens there.
export function now() {
  const here = performance.now();
  return here + least - (here - at) * drift;
}
