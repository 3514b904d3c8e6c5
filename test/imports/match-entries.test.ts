import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Evidence, matchEntries } from '../../src/imports/match-entries.ts';

/** "A" has that reference and no balance, "A=5" a balance as well, "=5" only a balance, "" neither. */
const parse = (text: string): Evidence => {
  const [reference = '', balance] = text.split('=');
  return {
    reference: reference === '' ? null : reference,
    balance: balance ?? null,
  };
};
const match = (entries: string[], stored: string[], options?: Parameters<typeof matchEntries>[2]) =>
  matchEntries(entries.map(parse), stored.map(parse), options).map((it) => it?.index ?? null);

describe('entries of the same account, date, direction and amount', () => {
  it.each<[string, string[], string[], (number | null)[]]>([
    ['two identical payments on one day are two movements', ['', ''], [], [null, null]],
    ['the same statement twice stores nothing twice', ['A=1', 'B=2'], ['A=1', 'B=2'], [0, 1]],
    ['without references and balances the count decides', ['', '', ''], ['', ''], [0, 1, null]],
    ['a statement that holds fewer of them changes nothing', [''], ['', ''], [0]],
    ['references match in any order', ['B', 'A'], ['A', 'B'], [1, 0]],
    ['balances match in any order', ['=2', '=1'], ['=1', '=2'], [1, 0]],
    ['a blank reference is none', [' ', ''], ['A', ' '], [0, 1]],
    [
      'a reference shared by the entries of one batch counts once for each',
      ['A', 'A', 'A'],
      ['A', 'A'],
      [0, 1, null],
    ],
    ['an entry with another reference is another one', ['B'], ['A'], [null]],
    ['and so it is with another balance as well', ['B=2'], ['A=1'], [null]],
    [
      'the same balance with another reference is the same entry: the bank gave it a new one',
      ['B=1'],
      ['A=1'],
      [0],
    ],
    ['an interim report without references, then the statement with them', ['A', 'B'], ['', ''], [0, 1]],
    ['one more in the final statement than in the interim report', ['A', 'B'], ['A'], [0, null]],
    ['a later interim report that holds only what is new', ['B'], ['A', 'C'], [null]],
    ['balances that moved, because the bank inserted an entry later', ['=5', '=6'], ['=1', '=2'], [0, 1]],
    ['a reference wins over a balance', ['A=2', 'B=1'], ['A=1', 'B=2'], [0, 1]],
  ])('%s', (_, entries, stored, expected) => {
    expect(match(entries, stored)).toEqual(expected);
  });

  it('matches by count where the bank has given new references to the whole day', () => {
    expect(match(['X', 'Y'], ['A', 'B'], { referencesChanged: true })).toEqual([0, 1]);
    expect(match(['X=7', 'Y=2'], ['A=1', 'B=2'], { referencesChanged: true })).toEqual([null, 1]);
  });

  it.each<[string, string, boolean]>([
    ['A', 'A', false],
    ['=1', '=1', false],
    ['A', '', true],
    ['', '', true],
    ['=1', '=2', true],
  ])('%j is %j, and that is assumed: %s', (entry, stored, isAssumed) => {
    expect(matchEntries([parse(entry)], [parse(stored)])).toEqual([{ index: 0, isAssumed }]);
    const only = matchEntries([parse(entry)], [parse(stored)], { mayAssume: false });
    expect(only).toEqual([isAssumed ? null : { index: 0, isAssumed }]);
  });

  it('leaves as many movements alone as earlier entries of the file were matched with', () => {
    expect(match([''], [''], { matchedBefore: 1 })).toEqual([null]);
    expect(match(['', ''], ['', '', ''], { matchedBefore: 2 })).toEqual([expect.any(Number), null]);
  });

  const evidence = fc.record({
    reference: fc.constantFrom(null, ' ', 'A', 'B', 'C'),
    balance: fc.constantFrom(null, '1', '2', '3'),
  });
  const some = fc.array(evidence, { maxLength: 6 });

  it('matches each movement once, and everything that was stored from the same entries', () => {
    fc.assert(
      fc.property(some, some, (entries, stored) => {
        const matched = matchEntries(entries, stored).flatMap((it) => it?.index ?? []);
        expect(new Set(matched).size).toBe(matched.length);
        expect(matchEntries(entries, entries.toReversed())).not.toContain(null);
      }),
    );
  });
});
