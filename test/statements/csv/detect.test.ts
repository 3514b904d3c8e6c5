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
});
