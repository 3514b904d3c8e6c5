import { describe, expect, it } from 'vitest';
import { parseBai2 } from '../../../packages/statements/src/bai2/parse.ts';
import { describeEvents, entriesOf, readEvents, warningsOf } from '../statement-events.ts';
import { ACCOUNT, FILE, GROUP, inAccount, read, STATEMENT } from './records.ts';

describe('the trailers of a BAI2 file', () => {
  const RIGHT = `${FILE}${GROUP}03,17,,010,100,,,015,300,,/\n16,195,200,,R,,T\n88,U\n49,600,4/\n98,600,1,6/\n99,600,1,8/\n`;

  it.each<[string, string, RegExp[]]>([
    ['right trailers', RIGHT, []],
    [
      'a total of the account',
      RIGHT.replace('49,600', '49,601'),
      [
        /total of the account is 601, but its amounts add up to 600/,
        /total of the group is 600, but its amounts add up to 601/,
      ],
    ],
    [
      'records of the account',
      RIGHT.replace('600,4', '600,5'),
      [/trailer of the account counts 5 records, but there are 4/],
    ],
    [
      'a total of the group',
      RIGHT.replace('98,600', '98,-600'),
      [/total of the group is -600/, /total of the file is 600/],
    ],
    ['accounts of the group', RIGHT.replace('98,600,1', '98,600,2'), [/counts 2 accounts, but there are 1/]],
    ['a total of the file', RIGHT.replace('99,600', '99,1'), [/total of the file is 1/]],
    [
      'groups and records of the file',
      RIGHT.replace('99,600,1,8', '99,600,3,9'),
      [/counts 3 groups, but there are 1/, /counts 9 records, but there are 8/],
    ],
    [
      'no trailer of the account',
      RIGHT.replace('49,600,4/\n', ''),
      [/no trailer \(49\)/, /counts 6 records, but there are 5/, /counts 8 records, but there are 7/],
    ],
    ['no trailer of the file', RIGHT.replace('99,600,1,8/\n', ''), [/no trailer \(99\)/]],
    ['no trailers', RIGHT.slice(0, RIGHT.indexOf('49,')), [/\(49\)/, /\(98\)/, /\(99\)/]],
    [
      'empty trailers',
      RIGHT.replace('49,600,4', '49').replace('98,600,1,6', '98').replace('99,600,1,8', '99'),
      [],
    ],
    ['an amount that cannot be read, so nothing to compare', RIGHT.replace('16,195,200', '16,195,x'), []],
  ])('are compared with the records: %s', async (_, text, expected) => {
    const messages = warningsOf(await read(text));
    expect(messages).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(messages[index]).toMatch(pattern);
  });
});

describe('a BAI2 file', () => {
  it('without an account gives an issue', async () => {
    expect(describeEvents(await read(FILE))).toEqual(['warning at 1', 'issue at 1: account']);
    expect(describeEvents(await read(''))).toEqual(['issue at 1: account']);
  });

  it('may be one line, longer than any line limit', async () => {
    const records = '16,195,100,,R,,SOME TEXT/ '.repeat(10_000);
    const text = `${`${FILE}${GROUP}${ACCOUNT}`.replaceAll('\n', ' ')}${records}49,1000000,10002/98,1000000,1,10004/99,1000000,1,10006/`;
    const events = await readEvents(parseBai2, text, [5_000]);
    expect(entriesOf(events)).toHaveLength(10_000);
    expect(events.filter(({ type }) => type === 'issue' || type === 'warning')).toEqual([]);
  });

  it('reports lines that are not records', async () => {
    const events = await read(inAccount('16,195,100,,R,,T/\n17,195,100,,R,,T\nHELLO'));
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      '2026-03-01 +1.00',
      'issue at 5: record',
      'issue at 6: record',
      'end',
    ]);
  });

  it('has an endless text shortened, with a warning', async () => {
    const events = await read(inAccount(`16,195,100,,R,,${'x'.repeat(300_000)}\n16,195,5,,G,,GOOD`));
    expect(describeEvents(events)).toEqual([
      STATEMENT,
      'warning at 4',
      '2026-03-01 +1.00',
      '2026-03-01 +0.05',
      'end',
    ]);
    const many = await read(
      inAccount(`16,195,100,,R,,T\n${'88,MORE OF THE TEXT\n'.repeat(10_000)}16,195,5,,G,,GOOD`),
    );
    expect(describeEvents(many)).toEqual([
      STATEMENT,
      'warning at 4',
      '2026-03-01 +1.00',
      '2026-03-01 +0.05',
      'end',
    ]);
  });
});
