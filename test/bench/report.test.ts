import { describe, expect, it } from 'vitest';
import type { Measured } from '../../bench/figure.ts';
import { drawPicture } from '../../bench/picture.ts';
import { replaceTable } from '../../bench/report.ts';
import { type Report, summarise } from '../../bench/summary.ts';
import { renderMarkdown, renderTerminal } from '../../bench/table.ts';

const measured = (value: number, baseline: number, rest: Partial<Measured> = {}): Measured => ({
  name: 'deliveries, 2 webhooks',
  unit: 'deliveries/s',
  value,
  baseline: { name: 'a bare loop', value: baseline },
  ...rest,
});

const report = (results: Report['results']): Report => ({
  date: '2026-01-15',
  cpu: { model: 'Model X', count: 2 },
  node: '20.20.0',
  redis: '7.0.15',
  mysql: '10.11.19-MariaDB',
  results,
});

describe('summarise', () => {
  it('takes median, least and greatest over the rounds, and of ratios within one round', () => {
    const rounds = [[measured(50, 100)], [measured(90, 100)], [measured(100, 400)]];
    expect(summarise('deliveries', rounds)).toEqual([
      {
        figure: 'deliveries',
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

  it('takes the mean of the two in the middle when the rounds are even in number', () => {
    const [result] = summarise('f', [[measured(10, 10)], [measured(20, 10)]]);
    expect(result?.value.median).toBe(15);
  });

  it('keeps apart what is held against two baselines', () => {
    const round = [measured(50, 100), measured(50, 25, { baseline: { name: 'jobs', value: 25 } })];
    const ratios = summarise('f', [round, round]).map(({ baseline }) => [
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
  ])('judges the ratio $value/100 against $wanted as $met', ({ value, wanted, met }) => {
    expect(summarise('f', [[measured(value, 100, { wanted })]])[0]?.met).toBe(met);
  });

  it('judges the value itself where there is no baseline', () => {
    const memory = { name: 'peak', unit: 'MB', value: 301, wanted: { atMost: 300 } };
    expect(summarise('memory', [[memory]])[0]).toMatchObject({ met: false });
    expect(summarise('memory', [[{ ...memory, value: 300 }]])[0]).toMatchObject({ met: true });
  });

  it('says nothing of met where nothing is wanted', () => {
    expect(summarise('f', [[measured(1, 2)]])[0]).not.toHaveProperty('met');
  });
});

describe('the table', () => {
  const results = summarise('deliveries', [
    [measured(12_345, 20_000, { wanted: { atLeast: 0.6 } })],
    [measured(10_000, 20_000, { wanted: { atLeast: 0.6 } })],
    [measured(13_000, 20_000, { wanted: { atLeast: 0.6 } })],
  ]);

  it('shows medians with least and greatest, the ratio, what is wanted and whether it is met', () => {
    const lines = renderTerminal(report(results));
    expect(lines.find((line) => line.includes('deliveries, 2 webhooks'))).toMatch(
      /12,345 \(10,000 to 13,000\) +20,000 +0\.62 \(0\.50 to 0\.65\) +≥ 0\.6 +yes$/,
    );
    expect(lines[0]).toContain('rounds: 3');
  });

  it('is a row of as many cells as its heading in Markdown, with a dash for what there is not', () => {
    const memory = summarise('memory', [[{ name: 'peak', unit: 'MB', value: 120 }]]);
    const rows = renderMarkdown(report([...results, ...memory])).filter((line) => line.startsWith('|'));
    expect(rows.map((row) => row.split(' | ').length)).toEqual([7, 7, 7, 7]);
    expect(rows.at(-1)).toBe('| peak, MB | 120 | – | – | – | – | – |');
  });

  it('takes the place of the one in the page, and leaves the rest of the page as it is', () => {
    const page = 'before\n<!-- table: npm run bench -->\n\nold\n\n<!-- end of the table -->\nafter\n';
    expect(replaceTable(page, ['| new |'])).toBe(
      'before\n<!-- table: npm run bench -->\n\n| new |\n\n<!-- end of the table -->\nafter\n',
    );
    expect(() => replaceTable('a page without the two lines', [])).toThrow(
      'docs/performance.md needs a line',
    );
  });
});

describe('the picture', () => {
  it('is an SVG whose text is text, with a panel for what should be long and one for what should be short', () => {
    const svg = drawPicture([
      ...summarise('deliveries', [[measured(50, 100, { wanted: { atLeast: 0.6 } })]]),
      ...summarise('latency', [
        [measured(15, 10, { name: 'latency <p99> & "more"', wanted: { atMost: 3 } })],
      ]),
      ...summarise('deliveries', [[measured(1, 2, { name: 'nothing is wanted of this' })]]),
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
