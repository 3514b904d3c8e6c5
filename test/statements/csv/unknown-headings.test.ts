import { describe, expect, it } from 'vitest';
import { looksLikeTable, readTables } from '../../../packages/statements/src/csv/parse.ts';
import { explainHeadings } from '../../../packages/statements/src/profiles/headings.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const profile = { ...testProfile({ heading: ['Date', 'Amount', 'Text', 'Balance'] }), name: 'near' };
const far = {
  ...testProfile({
    heading: ['Datum', 'Betrag', 'Text', 'Saldo'],
    columns: { date: 'Datum', amount: 'Betrag' },
  }),
  name: 'far',
};
const explain = (start: string, profiles = [far, profile]) =>
  explainHeadings(readTables(start), profiles, READ_SETTINGS.advice);

describe('the error for a table without a profile', () => {
  it('names the headings of the file and the nearest profile', () => {
    expect(explain('Account;1\n\nDate;Amount;Text;Ref\n01.02.2026;1;a;b\n')).toBe(
      'The headings of the file fit no profile: "Date", "Amount", "Text", "Ref". Nearest: near, which also needs "Balance". docs/formats/csv.md says how to write a profile',
    );
  });

  it('says that only the delimiter differs from the nearest profile', () => {
    expect(explain('Date,Amount,Text,Balance\n01.02.2026,1,a,2\n')).toContain(
      'Nearest: near, whose columns are separated by ";" and not by ",".',
    );
  });

  it('names no profile when no profile is near', () => {
    expect(explain('Tarih;Tutar;Bakiye\n01.02.2026;1;2\n')).toBe(
      'The headings of the file fit no profile: "Tarih", "Tutar", "Bakiye". docs/formats/csv.md says how to write a profile',
    );
  });

  it('names all profiles that fit when several fit', () => {
    const twin = { ...profile, name: 'twin' };
    expect(explain('Date;Amount;Text;Balance\n', [profile, twin])).toBe(
      'The headings of the file fit several profiles: near, twin. To choose one, send profile=NAME with the file',
    );
  });

  it('names a profile once, whatever number of its variants is near or fits', () => {
    const variants = [{ delimiter: ',' }, { heading: ['Date', 'Amount', 'Text', 'Saldo', 'Code'] }];
    const varied = testProfile({ variants });
    expect(explain('Date;Amount;Text;Ref\n', [varied])).toContain(
      'Nearest: test, which also needs "Balance". docs',
    );
  });

  it('stays short enough to be stored, for any number and length of headings', () => {
    const long = 'x'.repeat(300);
    const heading = Array.from({ length: 200 }, (_, at) => `${at}${long}`);
    const profiles = Array.from({ length: 5 }, (_, at) => ({
      ...testProfile({
        heading: [
          'Date',
          'Amount',
          ...heading.slice(0, 5),
          ...[1, 2, 3, 4].map((n) => `missing ${n} ${long}`),
        ],
        columns: { date: 'Date', amount: 'Amount' },
      }),
      name: `profile-${at}-with-a-name-of-forty-characters`.slice(0, 40),
    }));
    const text = explain(`${heading.join(';')}\n`, profiles);
    expect(text).toContain('Nearest: profile-0');
    expect(text.length).toBeLessThan(450);
  });
});

describe('the check whether a file is a table', () => {
  it.each<[string, string, boolean]>([
    ['rows of three columns', 'a;b;c\n1;2;3\n', true],
    ['a table below a title', 'Account statement\n\na,b,c\n1,2,3\n', true],
    ['two columns', 'a;b\n1;2\n', false],
    ['one row', 'a;b;c\n', false],
    ['prose', 'Dear Sir, Madam, and others,\nthis is a letter.\n', false],
    ['NDJSON', '{"a":1,"b":2,"c":3}\n{"a":1,"b":2,"c":3}\n', false],
    ['a page', '<p>a, b, c</p>\n<p>d, e, f</p>\n', false],
    ['noise', 'a;b;c\u0000\n1;2;3\n', false],
    ['nothing', '', false],
  ])('decides correctly for %s', (_, start, expected) => {
    expect(looksLikeTable(start)).toBe(expected);
  });
});
