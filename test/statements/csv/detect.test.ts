import { describe, expect, it } from 'vitest';
import { detectProfile, looksLikeCsv } from '../../../src/statements/csv/parse.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const HEADING = 'Date;Amount;Text;Balance\n';

describe('detection', () => {
  const narrow = { ...testProfile(), name: 'narrow' };
  const wide = {
    ...testProfile({ heading: ['Date', 'Amount', 'Text', 'Balance', 'Code'] }),
    name: 'wide',
  };

  it('finds a heading below other rows', () => {
    expect(detectProfile(`Account;1\n\n${HEADING}01.02`, [narrow])?.name).toBe('narrow');
  });

  it('takes the profile with more headings', () => {
    expect(detectProfile('Date;Amount;Text;Balance;Code\n', [narrow, wide])?.name).toBe('wide');
    expect(detectProfile(HEADING, [narrow, wide])?.name).toBe('narrow');
  });

  it('is undecided between two with the same headings', () => {
    expect(detectProfile(HEADING, [narrow, { ...narrow, name: 'twin' }])).toBeNull();
  });

  it.each([
    ['another delimiter', 'Date,Amount,Text,Balance\n'],
    ['a heading that is cut off', 'Date;Amount;Te'],
    ['MT940', ':20:STARTUMS\n:25:10010010/1111111111\n:28C:1/1\n'],
    ['XML', '<?xml version="1.0"?><Document><Date/></Document>'],
    ['JSON', '{"Date":1,"Amount":2,"Text":"","Balance":3}'],
    ['BAI2', '01,122099999,123456789,040621,0200,1,65,,2/\n'],
    ['nothing', ''],
  ])('%s is not taken for it', (_, start) => {
    expect(looksLikeCsv(start, [narrow, wide])).toBe(false);
  });

  it('works before the encoding is known', () => {
    const profile = testProfile({ heading: ['Date', 'Částka'], columns: { date: 'Date', amount: 'Částka' } });
    expect(detectProfile('Date;Èástka\n', [profile])?.name).toBe('test');
  });
});
