import { describe, expect, it } from 'vitest';
import { entriesOf } from '../statement-events.ts';
import { END, FILE, GROUP, read } from './records.ts';

const RECORD = '16,195,100,,REF,,';
/** A record that has this length, and a text that begins like this and ends with the letters given. */
const filled = (length: number, end: string, record = RECORD) =>
  `${record}${'X'.repeat(length - record.length - end.length)}${end}`;

const describeText = async (records: string, length = '') =>
  entriesOf(
    await read(`${FILE.replace('1,,,2', `1,${length},,2`)}${GROUP}03,17,,,,,/\n${records}\n${END}`),
  )[0]?.description?.replace(/^X+/, '');

describe('the text of a BAI2 transaction', () => {
  it.each<[string, string, string | undefined, string]>([
    ['without a blank after a full record of 80', `${filled(80, 'CLIE')}\n88,NT`, '', 'CLIENT'],
    [
      'without a blank after a full continuation',
      `${filled(80, 'A')}\n${filled(80, 'CLIE', '88,')}\n88,NT`,
      '',
      `A${'X'.repeat(73)}CLIENT`,
    ],
    ['without a blank after a record of the stated length', `${filled(40, 'CLIE')}\n88,NT`, '40', 'CLIENT'],
    [
      'with a blank after 80 when another length is stated',
      `${filled(80, 'BILL')}\n88,TWO`,
      '96',
      'BILL TWO',
    ],
    ['with a blank after a shorter record', `${filled(79, 'BILL')}\n88,TWO`, '', 'BILL TWO'],
    ['with a blank after a longer record', `${filled(81, 'BILL')}\n88,TWO`, '', 'BILL TWO'],
    ['with the blank that begins the continuation', `${filled(80, 'BILL')}\n88, TWO`, '', 'BILL TWO'],
    ['with the blank that ends the full record', `${filled(80, 'BILL ')}\n88,TWO`, '', 'BILL TWO'],
    [
      'with a blank after a full record that a slash closes',
      `${filled(80, 'BILL/')}\n88,TWO/`,
      '',
      'BILL TWO',
    ],
    ['past an empty continuation', `${RECORD}BILL\n88,\n88,TWO`, '', 'BILL TWO'],
  ])('is joined %s', async (_, records, length, expected) => {
    expect(await describeText(records, length)).toBe(expected);
  });
});
