import { describe, expect, it } from 'vitest';
import type { Measured, MeasuredTimes } from '../../bench/figure.ts';
import { drawPicture } from '../../bench/picture.ts';
import { replaceTable } from '../../bench/report.ts';
import { mergeReports, type Report, summarise } from '../../bench/summary.ts';
import { renderMarkdown, renderTerminal } from '../../bench/table.ts';

const measured = (value: number, baseline: number, rest: Partial<Measured> = {}): Measured => ({
  name: 'deliveries, 2 webhooks',
  unit: 'deliveries/s',
  value,
  baseline: { name: 'a bare loop', value: baseline },
  ...rest,
});

const SERVER = 'MariaDB 10.11.19';

const report = (results: Report['results']): Report => ({
  date: '2026-01-15',
  cpu: { model: 'Model X', count: 2 },
  node: '20.20.0',
  redis: '7.0.15',
  results,
});

describe('summarise', () => {
  it('gives median, least and greatest over the rounds, and of the ratios within each round', () => {
    const rounds = [[measured(50, 100)], [measured(90, 100)], [measured(100, 400)]];
    expect(summarise('deliveries', SERVER, rounds)).toEqual([
      {
        figure: 'deliveries',
        server: SERVER,
        name: 'deliveries, 2 webhooks',
        unit: 'deliveries/s',
        rounds: 3,
        value: { median: 90, min: 50, max: 100 },
        baseline: {
          name: 'a bare loop',
          value: { median: 100, min: 100, max: 400 },
          ratio: { median: 0.5, min: 0.25, max: 0.9 },
        },
      },
    ]);
  });

  it('gives the mean of the middle two if the number of rounds is even', () => {
    const [result] = summarise('f', SERVER, [[measured(10, 10)], [measured(20, 10)]]);
    expect(result?.value.median).toBe(15);
  });

  it('keeps results with two baselines apart', () => {
    const round = [measured(50, 100), measured(50, 25, { baseline: { name: 'jobs', value: 25 } })];
    const ratios = summarise('f', SERVER, [round, round]).map(({ baseline }) => [
      baseline?.name,
      baseline?.ratio.median,
    ]);
    expect(ratios).toEqual([
      ['a bare loop', 0.5],
      ['jobs', 2],
    ]);
  });

  it.each([
    { value: 60, wanted: { atLeast: 0.6 }, met: true },
    { value: 59, wanted: { atLeast: 0.6 }, met: false },
    { value: 150, wanted: { atMost: 1.5 }, met: true },
    { value: 151, wanted: { atMost: 1.5 }, met: false },
  ])('compares the ratio $value/100 with $wanted as $met', ({ value, wanted, met }) => {
    expect(summarise('f', SERVER, [[measured(value, 100, { wanted })]])[0]?.met).toBe(met);
  });

  it('compares the value itself if there is no baseline', () => {
    const memory = { name: 'peak', unit: 'MB', value: 301, wanted: { atMost: 300 } };
    expect(summarise('memory', SERVER, [[memory]])[0]).toMatchObject({ met: false });
    expect(summarise('memory', SERVER, [[{ ...memory, value: 300 }]])[0]).toMatchObject({ met: true });
  });

  it('has no met if nothing is wanted', () => {
    expect(summarise('f', SERVER, [[measured(1, 2)]])[0]).not.toHaveProperty('met');
  });
});

describe('summarise with percentiles', () => {
  const times = (count: number, wanted?: MeasuredTimes['wanted']): MeasuredTimes => ({
    name: 'latency, p99',
    unit: 'ms',
    part: 0.99,
    times: Array.from({ length: count }, (_, i) => 2 * (i + 1)),
    baseline: { name: 'a relay', times: Array.from({ length: count }, (_, i) => i + 1) },
    ...(wanted === undefined ? {} : { wanted }),
  });

  it('gives the percentile of each round that has enough samples', () => {
    const [result] = summarise('f', SERVER, [[times(1_000, { atMost: 2 })], [times(2_000)]]);
    expect(result).toMatchObject({
      rounds: 2,
      value: { min: 1_980, max: 3_960 },
      baseline: { value: { min: 990, max: 1_980 }, ratio: { median: 2, min: 2, max: 2 } },
      met: true,
    });
    expect(result).not.toHaveProperty('pooled');
  });

  it('pools all rounds if one alone has too few samples, and says so', () => {
    const results = summarise('f', SERVER, [[times(500)], [times(500)]]);
    expect(results).toMatchObject([
      {
        rounds: 2,
        pooled: true,
        value: { median: 990, min: 990, max: 990 },
        baseline: { ratio: { median: 2 } },
      },
    ]);
    expect(renderMarkdown(report(results)).at(-1)).toContain('| latency, p99, ms, all rounds pooled | 990 |');
  });

  it('pools both sides if only one has too few samples', () => {
    const uneven = { ...times(1_000), times: times(600).times };
    expect(summarise('f', SERVER, [[uneven], [uneven]])).toMatchObject([
      { pooled: true, value: { median: 1_188 }, baseline: { value: { median: 990 } } },
    ]);
  });

  it('leaves out a figure with too few samples in all rounds together', () => {
    expect(summarise('f', SERVER, [[times(499)], [times(500)]])).toEqual([]);
    expect(
      summarise('f', SERVER, [[{ ...times(5_000), baseline: { name: 'a relay', times: [1] } }]]),
    ).toEqual([]);
  });
});

describe('mergeReports', () => {
  it("keeps an earlier run's results for other figures and other servers, with their day", () => {
    const on = (server: string, figure: string, value: number) =>
      summarise(figure, server, [[measured(value, 100)]]);
    const earlier = report([
      ...on('MariaDB 10.11.19', 'imports', 1),
      ...on('MariaDB 10.11.19', 'deliveries', 2),
      ...on('MySQL 9.7.0', 'imports', 3),
      ...on('MySQL 9.7.0', 'latency', 6),
    ]);
    const later = report([...on('MySQL 9.7.0', 'imports', 4), ...on('MySQL 9.7.0', 'deliveries', 5)]);
    const merged = mergeReports({ ...earlier, date: '2026-01-01' }, { ...later, date: '2026-01-02' });
    expect(
      merged.results.map(({ figure, server, value, date }) => [figure, server, value.median, date]),
    ).toEqual([
      ['imports', 'MariaDB 10.11.19', 1, '2026-01-01'],
      ['imports', 'MySQL 9.7.0', 4, undefined],
      ['deliveries', 'MariaDB 10.11.19', 2, '2026-01-01'],
      ['deliveries', 'MySQL 9.7.0', 5, undefined],
      ['latency', 'MySQL 9.7.0', 6, '2026-01-01'],
    ]);
    const nextDay = mergeReports(merged, { ...later, date: '2026-01-03', results: on('x', 'replay', 7) });
    expect(nextDay.results.map(({ date }) => date)).toEqual([
      '2026-01-01',
      '2026-01-02',
      '2026-01-01',
      '2026-01-02',
      '2026-01-01',
      undefined,
    ]);
  });
});

describe('the table of results', () => {
  const results = summarise('deliveries', SERVER, [
    [measured(12_345, 20_000, { wanted: { atLeast: 0.6 } })],
    [measured(10_000, 20_000, { wanted: { atLeast: 0.6 } })],
    [measured(13_000, 20_000, { wanted: { atLeast: 0.6 } })],
  ]);

  it('shows medians with least and greatest, the ratio, the target and whether it is met', () => {
    const lines = renderTerminal(report(results));
    expect(lines.find((line) => line.includes('deliveries, 2 webhooks'))).toMatch(
      /12,345 \(10,000 to 13,000\) +20,000 +0\.62 \(0\.50 to 0\.65\) +≥ 0\.6 +yes +MariaDB 10\.11\.19$/,
    );
    expect(lines[0]).toContain('rounds: 3');
  });

  it('has as many cells in each row as in its heading in Markdown, with a dash for a missing value', () => {
    const memory = summarise('memory', SERVER, [[{ name: 'peak', unit: 'MB', value: 120 }]]);
    const rows = renderMarkdown(report([...results, ...memory])).filter((line) => line.startsWith('|'));
    expect(rows.map((row) => row.split(' | ').length)).toEqual([9, 9, 9, 9]);
    expect(rows.at(-1)).toBe('| peak, MB | 120 | – | – | – | – | – | MariaDB 10.11.19 | 2026-01-15 |');
  });

  it('names the server of each row, and all servers above the table', () => {
    const onMysql = summarise('deliveries', 'MySQL 9.7.0', [[measured(9_000, 20_000)]]);
    const lines = renderTerminal(report([...results, ...onMysql]));
    expect(lines[0]).toContain('MariaDB 10.11.19, MySQL 9.7.0.');
    expect(lines.filter((line) => line.includes('deliveries, 2 webhooks'))).toEqual([
      expect.stringMatching(/MariaDB 10\.11\.19$/),
      expect.stringMatching(/MySQL 9\.7\.0$/),
    ]);
  });

  it('replaces the table in the page, and leaves the rest of the page as it is', () => {
    const page = 'before\n<!-- table: npm run bench -->\n\nold\n\n<!-- end of the table -->\nafter\n';
    expect(replaceTable(page, ['| new |'])).toBe(
      'before\n<!-- table: npm run bench -->\n\n| new |\n\n<!-- end of the table -->\nafter\n',
    );
    expect(() => replaceTable('a page without the two lines', [])).toThrow('bench/README.md needs a line');
  });
});

describe('the picture of results', () => {
  it('names the server of each bar when there are several', () => {
    const wanted = { atLeast: 0.6 };
    const one = summarise('deliveries', SERVER, [[measured(50, 100, { wanted })]]);
    const other = summarise('deliveries', 'MySQL 9.7.0', [[measured(50, 100, { wanted })]]);
    expect(drawPicture(one)).not.toContain(SERVER);
    expect(drawPicture([...one, ...other])).toContain(
      'deliveries, 2 webhooks, against a bare loop, MySQL 9.7.0',
    );
  });

  it('is an SVG with real text, and separate panels for figures to be long and figures to be short', () => {
    const svg = drawPicture([
      ...summarise('deliveries', SERVER, [[measured(50, 100, { wanted: { atLeast: 0.6 } })]]),
      ...summarise('latency', SERVER, [
        [measured(15, 10, { name: 'latency <p99> & "more"', wanted: { atMost: 3 } })],
      ]),
      ...summarise('deliveries', SERVER, [[measured(1, 2, { name: 'nothing is wanted of this' })]]),
    ]);
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    expect(texts).toContain('deliveries, 2 webhooks, against a bare loop');
    expect(texts).toContain('0.50  ≥ 0.6: not met');
    expect(texts).toContain('1.50  ≤ 3: met');
    expect(texts.some((text) => text?.includes('longer is better'))).toBe(true);
    expect(texts.some((text) => text?.includes('shorter is better'))).toBe(true);
    expect(svg).not.toContain('nothing is wanted of this');
    // A quote inside an attribute, or a bare & or <, would make it no XML.
    for (const [, tag = ''] of svg.matchAll(/<([^>]*)>/g)) {
      expect(tag.replaceAll(/="[^"]*"/g, '')).not.toMatch(/["<&]/);
    }
  });
});
