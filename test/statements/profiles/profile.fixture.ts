import { parseProfile } from '../../../packages/statements/src/parse-profile.ts';
import type { Profile } from '../../../packages/statements/src/profile.ts';

/** A small profile for tests. Members of `changes` replace those of the file. */
export const testProfile = (changes: Record<string, unknown> = {}): Profile =>
  parseProfile('test', {
    bank: 'Test Bank',
    source: 'this test',
    delimiter: ';',
    decimalSign: ',',
    dateFormats: ['DD.MM.YYYY'],
    heading: ['Date', 'Amount', 'Text', 'Balance'],
    columns: { date: 'Date', amount: 'Amount', description: 'Text', balance: 'Balance' },
    ...changes,
  });
