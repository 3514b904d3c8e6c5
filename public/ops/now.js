/* global uPlot, replaceWithin */
// Draws the charts of the page Now, and shows each verdict that live.js receives.

const charts = document.querySelector('.charts');
/** Minutes from UTC to the zone in which the page shows times. */
const offset = Number(charts.dataset.offset);

/** Units of time, and their seconds. */
const UNITS = [
  ['d', 86400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];
const inUnits = (value, fits) => {
  const [unit, size] = UNITS.find(([, of]) => fits(of)) ?? UNITS.at(-1);
  return `${Math.floor(value / size)} ${unit}`;
};
const seconds = (value) => inUnits(value, (size) => value >= size);
/** In the largest unit in which it is whole, so that two labels of an axis are never the same. */
const wholeSeconds = (value) => (value === 0 ? '0' : inUnits(value, (size) => value % size === 0));
const clock = (at) => new Date((at + offset * 60) * 1000).toISOString().slice(11, 19).replace(/:00$/, '');
const count = (value) => Math.round(value).toLocaleString('en-US');
const rate = (value) => (value < 10 ? value.toFixed(1) : count(value));
const share = (value) => `${Math.floor(value * 1000) / 10} %`;

/** Distances between the labels of an axis: 1, 2 and 5, and the same with more digits. */
const decimals = (least) =>
  Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((it) => it * 10 ** (least + power))).flat();
const WHOLE = decimals(0);
const TENTHS = decimals(-1);
const DURATIONS = [
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60),
  ...[1, 2, 6, 12].map((hours) => hours * 3600),
  ...WHOLE.map((days) => days * 86400),
];

/**
 * Each chart: its id in the page, the fields of a sample that it shows, how a value is written, the distances between the labels of its axis and
 * how they are written, and its largest value, if these are not the usual ones.
 */
const CHARTS = [
  { id: 'pending', fields: ['pending'], write: count, steps: WHOLE },
  { id: 'oldest', fields: ['oldestSeconds'], write: seconds, steps: DURATIONS, label: wholeSeconds },
  { id: 'deliveries', fields: ['deliveriesPerSecond'], write: rate, steps: TENTHS },
  { id: 'imports', fields: ['importsPerSecond'], write: rate, steps: TENTHS },
  { id: 'success', fields: ['successShare'], write: share, most: 1 },
  { id: 'latency', fields: ['p50', 'p95', 'p99'], write: count, steps: WHOLE },
];

const SERIES = ['--series-1', '--series-2', '--series-3'];
const HEIGHT = 110;

/** As many samples as the service keeps. */
const KEPT = 300;

let samples = [];
let plots = [];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const dataOf = ({ fields }) => [
  samples.map(({ at }) => at),
  ...fields.map((field) => samples.map((sample) => sample[field])),
];

function createPlot(chart) {
  const holder = document.getElementById(`chart-${chart.id}`);
  const axis = {
    stroke: colour('--calm'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const options = {
    width: holder.clientWidth,
    height: HEIGHT,
    // The labels are those of the chosen zone. Where they stand is the same in all zones.
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    // With fewer than two samples, uPlot would show years. So the axis shows a minute at least.
    scales: {
      x: {
        range: () => {
          const end = samples.at(-1)?.at ?? Date.now() / 1000;
          return [Math.min(samples[0]?.at ?? end, end - 60), end];
        },
      },
      y: { range: (_plot, _least, most) => [0, chart.most ?? Math.max(most ?? 0, 1) * 1.1] },
    },
    axes: [
      { ...axis, size: 22, space: 70, values: (_plot, ticks) => ticks.map(clock) },
      {
        ...axis,
        size: 52,
        space: 24,
        ...(chart.steps === undefined ? {} : { incrs: chart.steps }),
        values: (_plot, ticks) => ticks.map(chart.label ?? chart.write),
      },
    ],
    series: [
      {},
      ...chart.fields.map((field, index) => ({
        label: field,
        stroke: colour(SERIES[index]),
        width: 1.5,
        points: { show: false },
        ...(chart.fields.length === 1 ? { fill: colour('--series-fill') } : {}),
      })),
    ],
  };
  return { chart, holder, plot: new uPlot(options, dataOf(chart), holder) };
}

function drawAll() {
  for (const { plot } of plots) plot.destroy();
  plots = CHARTS.map(createPlot);
}

function update() {
  for (const { chart, plot } of plots) plot.setData(dataOf(chart));
  const newest = samples.at(-1);
  for (const { id, fields, write } of CHARTS) {
    const values = fields.map((field) => newest?.[field]);
    document.getElementById(`value-${id}`).textContent = values
      .map((value) => (value === null || value === undefined ? '–' : write(value)))
      .join(' · ');
  }
}

/** Replaces a part of the page, unless the reader is selecting a text there. */
function replace(id, html) {
  const part = document.getElementById(id);
  const selection = getSelection();
  if (selection !== null && !selection.isCollapsed && part.contains(selection.anchorNode)) return;
  replaceWithin(part, html);
}

let announced = document.title;

/** The title of the tab, and what a screen reader says, change only when the state does. */
function announce({ title, announcement }) {
  document.title = title;
  if (announced !== title) document.getElementById('now-announcement').textContent = announcement;
  announced = title;
}

addEventListener('now', ({ detail: now }) => {
  samples = now.history ?? [...samples, now.sample].slice(-KEPT);
  update();
  replace('now-headline', now.headline);
  replace('now-rest', now.rest);
  announce(now);
});

drawAll();
new ResizeObserver(() => {
  for (const { plot, holder } of plots) plot.setSize({ width: holder.clientWidth, height: HEIGHT });
}).observe(charts);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
