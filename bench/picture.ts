import { type CustomSeriesOption, type CustomSeriesRenderItem, init } from 'echarts';
import type { Result, Spread } from './summary.ts';
import { showRatio, showWanted } from './table.ts';

/** A result whose ratio has a target. */
interface Row {
  label: string;
  ratio: Spread;
  wanted: number;
  text: string;
  met: boolean;
}

const WIDTH = 900;
const MARGIN = 24;
const TITLE = 44;
const ROW = 46;
const AXIS = 44;
/** Space right of the bars, for their numbers. */
const NUMBER = 230;

/** The background is white, because the page may be light or dark. Met and not met differ in words too, not only in colour. */
const COLOUR = { page: '#ffffff', text: '#1f2937', axis: '#6b7280', grid: '#e5e7eb' };
const BAR = { met: '#3b82c4', notMet: '#e08e45' };
/** Without quotes, because the renderer puts it into an attribute without escaping. */
const FONT = 'system-ui, sans-serif';

const PANELS = [
  { title: 'As a part of the baseline: longer is better', kind: 'atLeast' },
  { title: 'As a multiple of the baseline: shorter is better', kind: 'atMost' },
] as const;

/** Draws an SVG. Each ratio with a target has a bar, a whisker from its smallest to its largest value, and a mark at the target. */
export function drawPicture(results: readonly Result[]): string {
  const servers = new Set(results.map(({ server }) => server));
  const panels = PANELS.map(({ title, kind }) => ({
    title,
    rows: results.flatMap((result) => rowsOf(result, kind, servers.size > 1)),
  })).filter(({ rows }) => rows.length > 0);
  const tops = panels.map((_, at) =>
    panels.slice(0, at).reduce((top, { rows }) => top + TITLE + rows.length * ROW + AXIS, MARGIN),
  );
  const height = panels.reduce((sum, { rows }) => sum + TITLE + rows.length * ROW + AXIS, 2 * MARGIN);
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: COLOUR.page,
    textStyle: { fontFamily: FONT, color: COLOUR.text },
    title: panels.map(({ title }, at) => ({
      text: title,
      left: MARGIN,
      top: tops[at],
      padding: 0,
      textStyle: { fontSize: 16, fontFamily: FONT, color: COLOUR.text },
    })),
    grid: panels.map(({ rows }, at) => ({
      left: MARGIN,
      right: MARGIN + NUMBER,
      top: (tops[at] ?? 0) + TITLE,
      height: rows.length * ROW,
    })),
    xAxis: panels.map((_, at) => ({
      type: 'value',
      gridIndex: at,
      axisLabel: { color: COLOUR.axis, fontFamily: FONT },
      splitLine: { lineStyle: { color: COLOUR.grid } },
    })),
    yAxis: panels.map(({ rows }, at) => ({
      type: 'category',
      gridIndex: at,
      inverse: true,
      data: rows.map((_, row) => row),
      show: false,
    })),
    series: panels.map(
      ({ rows }, at): CustomSeriesOption => ({
        type: 'custom',
        silent: true,
        xAxisIndex: at,
        yAxisIndex: at,
        encode: { x: [1, 2, 3, 4], y: 0 },
        data: rows.map(({ ratio, wanted }, row) => [row, ratio.median, ratio.min, ratio.max, wanted]),
        renderItem: drawRow(rows),
      }),
    ),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function rowsOf(result: Result, kind: 'atLeast' | 'atMost', severalServers: boolean): Row[] {
  const { name, baseline, wanted, met, server } = result;
  if (baseline === undefined || wanted === undefined || !(kind in wanted)) return [];
  return [
    {
      label: `${name}, against ${baseline.name}${severalServers ? `, ${server}` : ''}`,
      ratio: baseline.ratio,
      wanted: 'atLeast' in wanted ? wanted.atLeast : wanted.atMost,
      text: `${showRatio(baseline.ratio)}  ${showWanted(wanted)}: ${met ? 'met' : 'not met'}`,
      met: met === true,
    },
  ];
}

/** Draws one row: its label and, below it, the bar, the whisker, the mark and, at the right, the number. */
const drawRow =
  (rows: readonly Row[]): CustomSeriesRenderItem =>
  ({ dataIndex }, api) => {
    const row = rows[dataIndex];
    if (row === undefined) return null;
    const place = (value: number) => api.coord([value, dataIndex]) as [number, number];
    const [left, middle] = place(0);
    const [end] = place(row.ratio.median);
    const [least] = place(row.ratio.min);
    const [greatest] = place(row.ratio.max);
    const [mark] = place(row.wanted);
    const bar = { y: middle, height: 14 };
    const centre = bar.y + bar.height / 2;
    const line = (x1: number, y1: number, x2: number, y2: number, lineWidth: number) => ({
      type: 'line' as const,
      shape: { x1, y1, x2, y2 },
      style: { stroke: COLOUR.text, lineWidth },
    });
    const text = (x: number, y: number, content: string) => ({
      type: 'text' as const,
      style: {
        x,
        y,
        text: content,
        fill: COLOUR.text,
        font: `13px ${FONT}`,
        verticalAlign: 'middle' as const,
      },
    });
    return {
      type: 'group',
      children: [
        text(left, middle - 11, row.label),
        {
          type: 'rect',
          shape: { x: left, width: end - left, ...bar },
          style: { fill: row.met ? BAR.met : BAR.notMet },
        },
        line(least, centre, greatest, centre, 1.5),
        line(least, centre - 4, least, centre + 4, 1.5),
        line(greatest, centre - 4, greatest, centre + 4, 1.5),
        line(mark, bar.y - 3, mark, bar.y + bar.height + 3, 3),
        text(WIDTH - MARGIN - NUMBER + 12, centre, row.text),
      ],
    };
  };
