// The charts: ten minutes, drawn by uPlot. A line is told by its dashes too, not by colour alone.
import { el, put, rate, span } from './format.js';

const keep = 10 * 60 * 1000;
const dashes = { solid: [], dashed: [8, 4], dotted: [2, 3] };
const all = new Set();

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Chart draws lines of columns in a figure: each {column, label, color, dash, scale, write}.
export class Chart {
  constructor(figure, title, lines) {
    Object.assign(this, { figure: document.getElementById(figure), lines, data: null, plot: null, at: null });
    this.keys = lines.map((l) => el('span', { class: 'value' }));
    this.figure.replaceChildren(
      el('figcaption', {}, el('strong', {}, title), ...lines.map((l, i) => el('span', { class: 'key' }, swatch(l), `${l.label} `, this.keys[i]))),
      this.box = el('div', { 'aria-hidden': 'true' }));
    new ResizeObserver(() => this.resize()).observe(this.figure);
    all.add(this);
  }

  // set takes columns; at are milliseconds.
  set(columns) {
    this.data = [columns.at.map((ms) => ms / 1000), ...this.lines.map((l) => columns[l.column] ?? columns.at.map(() => null))];
    this.draw();
  }

  // add takes one moment and lets go of what is older than ten minutes.
  add(at, values) {
    if (!this.data) return;
    const [times] = this.data;
    if (times.length && at / 1000 <= times.at(-1)) return;
    times.push(at / 1000);
    this.lines.forEach((l, i) => this.data[i + 1].push(values[l.column] ?? null));
    const old = times.findIndex((t) => t >= (at - keep) / 1000);
    if (old > 0) for (const column of this.data) column.splice(0, old);
    this.draw();
  }

  draw() {
    if (this.figure.hidden || !this.box.clientWidth || !this.data) return;
    this.plot ??= this.make();
    this.plot.setData(this.data);
    this.tell();
  }

  make() {
    const axis = { stroke: css('--soft'), grid: { stroke: css('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, "DejaVu Sans", sans-serif' };
    const scales = [...new Set(this.lines.map((l) => l.scale))];
    return new uPlot({
      width: this.box.clientWidth, height: 150, legend: { show: false }, padding: [8, scales.length > 1 ? 0 : 10, 0, 0],
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
      hooks: { setCursor: [(u) => (this.at = u.cursor.idx, this.tell())] },
      scales: {
        x: { range: (_, min, max) => [max - keep / 1000, max] },
        ...Object.fromEntries(scales.map((s) => [s, { range: (_, min, max) => [0, niceAbove(max)] }])),
      },
      axes: [
        { ...axis, grid: { show: false }, space: 70, size: 26, values: (_, ts) => ts.map((t) => clock.format(t * 1000)) },
        ...scales.map((s, i) => ({ ...axis, scale: s, side: i ? 1 : 3, grid: { ...axis.grid, show: i === 0 }, size: 50, space: 32, ...(this.lines.some((l) => l.scale === s && l.whole) && { incrs: wholes }), values: (_, vs) => vs.map((v) => short(v, this.lines.find((l) => l.scale === s))) })),
      ],
      series: [{}, ...this.lines.map((l) => ({ scale: l.scale, stroke: css(l.color), width: 2, dash: dashes[l.dash], points: { show: false }, fill: l.fill ? `${css(l.color)}22` : undefined, spanGaps: false }))],
    }, this.data, this.box);
  }

  // tell writes the values under the pointer, else the newest.
  tell() {
    const i = this.at ?? this.data[0].length - 1;
    this.lines.forEach((l, n) => put(this.keys[n], this.data[n + 1][i] == null ? '–' : l.write(this.data[n + 1][i])));
  }

  resize() {
    if (this.plot && this.box.clientWidth) this.plot.setSize({ width: this.box.clientWidth, height: 150 });
    else this.draw();
  }

  again() {
    this.plot?.destroy();
    this.plot = this.at = null;
    this.draw();
  }
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const short = (v, line) => compact.format(v) + (line.unit ?? '');

const wholes = Array.from({ length: 9 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

function niceAbove(max) {
  if (!(max > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(max));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * step).find((n) => n >= max * 1.05) ?? 15 * step;
}

function swatch(line) {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg'), path = document.createElementNS(ns, 'path');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('viewBox', '0 0 22 10');
  for (const [k, v] of Object.entries({ d: 'M0 5h22', stroke: `var(${line.color})`, 'stroke-width': 3, 'stroke-dasharray': dashes[line.dash].join(' ') })) path.setAttribute(k, v);
  svg.append(path);
  return svg;
}

// A chart's colours are of the moment it was made.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => all.forEach((c) => c.again()));

const seconds = (v) => span(v), each = (v) => rate(v), ms = (v) => `${rate(v)} ms`;
export const backlogLines = [
  { column: 'age', label: 'oldest', color: '--blue', dash: 'solid', scale: 's', unit: ' s', write: seconds, fill: true },
  { column: 'promise', label: 'promised', color: '--bad', dash: 'dotted', scale: 's', unit: ' s', write: seconds },
  { column: 'waiting', label: 'waiting', color: '--amber', dash: 'dashed', scale: 'n', whole: true, write: each },
];
export const flowLines = [
  { column: 'accepting', label: 'accepted', color: '--violet', dash: 'dashed', scale: 'n', write: each },
  { column: 'settling', label: 'settled', color: '--green', dash: 'solid', scale: 'n', write: each, fill: true },
];
export const paceLines = [{ column: 'pace', label: 'orders a second', color: '--blue', dash: 'solid', scale: 'n', write: each, fill: true }];
export const p90Lines = [
  { column: 'p90', label: 'p90', color: '--blue', dash: 'solid', scale: 'ms', unit: ' ms', write: ms, fill: true },
  { column: 'target', label: 'target', color: '--bad', dash: 'dotted', scale: 'ms', unit: ' ms', write: ms },
];
