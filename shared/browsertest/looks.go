package browsertest

// Faint is an expression that lists texts with a contrast below 4.5 to what is behind them;
// what has the class decor is for the eye alone.
const Faint = `(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => { context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1); const d = context.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
  const behind = (e) => { if (!e) return rgba(getComputedStyle(document.body).backgroundColor); const c = rgba(getComputedStyle(e).backgroundColor); return c[3] === 1 ? c : over(c, behind(e.parentElement)); };
  const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const faint = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || !e.getClientRects().length || e.closest('.unseen, .decor, script, svg')) continue;
    const under = behind(e), text = over(rgba(getComputedStyle(e).color), under), [a, b] = [light(text), light(under)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) faint.add(n.data.trim() + ' ' + ((a + .05) / (b + .05)).toFixed(2));
  }
  return [...faint].slice(0, 9).join('; ');
})()`

// Nameless is an expression that lists controls which a screen reader has no name for, and
// ids that are there twice. It knows the ways to name that the pages use.
const Nameless = `(() => {
  const said = (e) => (e.getAttribute('aria-labelledby') ?? '').split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? '').join(' ')
    || e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.textContent).join(' ') || e.textContent || e.getAttribute('title') || '';
  const bad = [...document.querySelectorAll('a, button, input, select, textarea, summary, dialog, article, section, nav, [role=timer], [role=progressbar], [role=group]')]
    .filter((e) => e.getClientRects().length && !said(e).trim()).map((e) => e.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  return [...bad, ...ids.filter((id, i) => ids.indexOf(id) !== i)].join('; ');
})()`
