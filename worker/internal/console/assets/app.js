// Wires the page: frames in, figures out.
import { state, take, ageOf } from './state.js';
import { keep } from './stream.js';
import { showAlerts } from './alerts.js';
import { showNow } from './now.js';
import { showSales, mark, listen } from './sales.js';
import { openDetail, closeDetail, showDetail } from './detail.js';
import { Chart, backlogLines, flowLines, paceLines, p90Lines } from './charts.js';

const totals = [
  new Chart('chart-backlog', 'Backlog', backlogLines), new Chart('chart-flow', 'Accepted and settled a second', flowLines),
  new Chart('chart-pace', 'Pace', paceLines), new Chart('chart-p90', 'Commit latency', p90Lines),
];
const ofSale = [new Chart('chart-sale-backlog', 'Backlog', backlogLines), new Chart('chart-sale-flow', 'Accepted and settled a second', flowLines)];
const narrow = matchMedia('(max-width: 74.99rem)');

const promise = () => state.frame.promise_seconds || null;
const withPromise = (columns) => ({ ...columns, promise: columns.at.map(promise) });

function drawCharts(frame) {
  document.getElementById('chart-pace').hidden = document.getElementById('chart-p90').hidden = !frame.pace;
  if (frame.history) for (const chart of totals) chart.set(withPromise(frame.history));
  const t = frame.totals, p = frame.pace;
  const values = {
    age: ageOf(t), waiting: t.waiting, promise: promise(), accepting: t.accepting, settling: t.settling,
    pace: p?.paused ? 0 : p?.orders_per_second, p90: p?.p90_ms || null, target: p?.target_ms,
  };
  for (const chart of totals) chart.add(frame.now, values);
  const s = state.sales.get(state.selected);
  if (s) for (const chart of ofSale) chart.add(frame.now, { age: ageOf(s), waiting: s.waiting, promise: promise(), accepting: s.accepting, settling: s.draining });
}

// choose selects a sale; moved is whether the reader went there, rather than past it.
async function choose(id, moved = true) {
  if (!state.sales.has(id)) return;
  state.selected = id;
  mark(id);
  openDetail();
  showDetail();
  if (moved && narrow.matches) document.getElementById('sale-title').focus();
  for (const chart of ofSale) chart.data = null;
  const note = document.getElementById('sale-history');
  const columns = await fetch(`/console/history?sale=${encodeURIComponent(id)}`).then((r) => (r.ok ? r.json() : null), () => null);
  if (state.selected !== id) return;
  note.hidden = columns != null;
  note.textContent = 'The last minutes of this sale were not kept; its charts begin now.';
  for (const chart of ofSale) chart.set(withPromise(columns ?? { at: [], age: [], waiting: [], accepting: [], settling: [] }));
}

function close() {
  const id = state.selected;
  state.selected = null;
  mark(null);
  closeDetail();
  if (id) document.querySelector(`[data-sale="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
}

listen(choose, close);
document.getElementById('sale-close').onclick = close;
keep((frame) => {
  take(frame);
  showAlerts(choose);
  showNow();
  showSales(choose);
  if (state.selected && !state.sales.has(state.selected)) close();
  showDetail();
  drawCharts(frame);
  if (frame.full && state.selected) choose(state.selected, false);
});
