import { describe, expect, it } from 'vitest';
import { detectProfile } from '../../../packages/statements/src/csv/parse.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const HEADING = 'Date;Amount;Text;Balance\n';

describe('the detection of a CSV profile', () => {
  const narrow = { ...testProfile(), name: 'narrow' };
  const wide = {
    ...testProfile({ heading: ['Date', 'Amount', 'Text', 'Balance', 'Code'] }),
    name: 'wide',
  };

  it('finds a heading below other rows', () => {
    expect(detectProfile(`Account;1\n\n${HEADING}01.02`, [narrow])?.name).toBe('narrow');
  });

  it('chooses the profile with more headings', () => {
    expect(detectProfile('Date;Amount;Text;Balance;Code\n', [narrow, wide])?.name).toBe('wide');
    expect(detectProfile(HEADING, [narrow, wide])?.name).toBe('narrow');
  });

  it('chooses no profile when two have the same headings', () => {
    expect(detectProfile(HEADING, [narrow, { ...narrow, name: 'twin' }])).toBeNull();
  });

  it('works before the encoding is known', () => {
    const profile = testProfile({ heading: ['Date', 'Částka'], columns: { date: 'Date', amount: 'Částka' } });
    expect(detectProfile('Date;Èástka\n', [profile])?.name).toBe('test');
  });

  it('finds the variant of a profile that has the language and the delimiter of the file', () => {
    const german = { heading: ['Datum', 'Betrag'], columns: { date: 'Datum', amount: 'Betrag' } };
    const profile = testProfile({
      delimiter: [';', '\t'],
      variants: [german, { ...german, delimiter: ',' }],
    });
    expect(detectProfile('Datum\tBetrag\n', [profile])).toMatchObject({ delimiter: '\t', ...german });
    expect(detectProfile('Datum,Betrag\n', [profile])).toMatchObject({ delimiter: ',', ...german });
    expect(detectProfile(HEADING, [profile])?.heading).toEqual(['Date', 'Amount', 'Text', 'Balance']);
    expect(detectProfile('Datum|Betrag\n', [profile])).toBeNull();
  });

  it('chooses the variant with the most headings', () => {
    const profile = testProfile({ variants: [{ heading: ['Date', 'Amount', 'Text', 'Balance', 'Code'] }] });
    expect(detectProfile('Code;Date;Amount;Text;Balance\n', [profile])?.heading).toHaveLength(5);
  });
});
