import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { count, read } from './read.ts';

const OWN = path.resolve('test/samples/mt940');
/** Public files that are not part of the project. */
const PUBLIC = path.resolve('../shared/samples/mt940');

const decode = (bytes: Buffer) => bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');

/** Statements, entries, issues, warnings, and statements whose balances differ by another sum than their entries'. */
async function countFile(file: string): Promise<number[]> {
  const { statements, entries, issues, warnings, off } = count(await read(decode(readFileSync(file))));
  return [statements, entries, issues, warnings, off];
}

const OWN_COUNTS: Record<string, number[]> = {
  'dirty.sta': [2, 4, 1, 3, 0],
  'intraday.942': [1, 2, 0, 0, 0],
  'slash-tags.940': [1, 2, 0, 0, 0],
  'structured.sta': [1, 3, 0, 0, 0],
};

/** A warning is a statement without a closing balance, except in sepa_snippet_broken.sta: a text with the tag of the account. */
const PUBLIC_COUNTS: Record<string, number[]> = {
  'ASNB/mt940.txt': [31, 8, 0, 0, 0],
  'ASNB/mt940_with_spaces_for_entry_date.txt': [31, 8, 0, 0, 0],
  'betterplace/amount_formats.sta': [6, 0, 0, 6, 0],
  'betterplace/currency_in_25.sta': [1, 0, 0, 1, 0],
  'betterplace/empty_86.sta': [0, 0, 0, 0, 0],
  'betterplace/empty_entry_date.sta': [1, 1, 0, 1, 0],
  'betterplace/empty_line.sta': [0, 0, 0, 0, 0],
  'betterplace/missing_crlf_at_end.sta': [1, 0, 0, 0, 0],
  'betterplace/sepa_mt9401.sta': [26, 97, 0, 0, 0],
  'betterplace/sepa_snippet.sta': [2, 11, 0, 0, 1],
  'betterplace/sepa_snippet_broken.sta': [1, 1, 0, 1, 1],
  'betterplace/with_binary_character.sta': [2, 4, 0, 0, 0],
  'citi/mt940.txt': [1, 5, 0, 0, 0],
  'jejik/abnamro.sta': [2, 10, 0, 0, 2],
  'jejik/generic.sta': [2, 2, 0, 0, 0],
  'jejik/ing.sta': [1, 7, 0, 0, 1],
  'jejik/knab.sta': [2, 3, 0, 0, 1],
  'jejik/postfinance.sta': [2, 4, 0, 0, 1],
  'jejik/rabobank-iban.sta': [2, 4, 0, 0, 0],
  'jejik/rabobank.sta': [4, 5, 0, 0, 2],
  'jejik/sns.sta': [2, 2, 0, 0, 0],
  'jejik/triodos.sta': [1, 2, 0, 0, 1],
  'mBank/mt940.sta': [1, 3, 0, 0, 0],
  'mBank/mt942.sta': [1, 3, 0, 0, 0],
  'mBank/with_newline_in_tnr.sta': [1, 2, 0, 0, 1],
  'sberbank/171011_01234945.sta': [1, 3, 0, 0, 0],
  'self-provided/account_identification.sta': [2, 0, 0, 2, 0],
  'self-provided/details_60-63.sta': [1, 1, 0, 0, 1],
  'self-provided/empty_non_swift.sta': [0, 0, 0, 0, 0],
  'self-provided/february_30.sta': [1, 1, 0, 0, 0],
  'self-provided/gv_codes.sta': [1, 2, 0, 1, 0],
  'self-provided/invalid_statement.sta': [0, 0, 0, 0, 0],
  'self-provided/long_statement_number.sta': [1, 0, 0, 0, 0],
  'self-provided/malformed_details.sta': [1, 1, 0, 0, 1],
  'self-provided/mt942.sta': [1, 1, 0, 0, 0],
  'self-provided/multiline.sta': [2, 2, 0, 1, 0],
  'self-provided/overly_long_details.sta': [1, 1, 0, 0, 1],
  'self-provided/raiffeisen-cmi.sta': [1, 7, 0, 0, 1],
  'self-provided/raphaelm.sta': [3, 9, 0, 0, 0],
  'self-provided/sparkassen.sta': [1, 1, 0, 1, 0],
  'self-provided/transaction_details_wrapped.sta': [1, 1, 0, 0, 0],
  'self-provided/whitespace.sta': [1, 1, 0, 0, 1],
  'self-provided/wrapped_timestamp.sta': [1, 1, 0, 0, 0],
};

describe('the project’s samples', () => {
  it.each(Object.entries(OWN_COUNTS))('%s', async (name, counts) => {
    expect(await countFile(path.join(OWN, name))).toEqual(counts);
  });

  it('say what they say', async () => {
    const texts = ['structured.sta', 'slash-tags.940', 'intraday.942', 'dirty.sta'].map((name) =>
      decode(readFileSync(path.join(OWN, name))),
    );
    const entries = (await Promise.all(texts.map((text) => read(text)))).flatMap(
      (contents) => contents.entries,
    );
    expect(
      entries.map((it) => [
        it.date,
        it.status,
        it.dc,
        it.amount,
        it.name,
        it.opponentIban,
        it.description,
        it.reference,
      ]),
    ).toEqual([
      [
        '2026-12-30',
        'booked',
        'Debit',
        65000n,
        'Hausverwaltung Mustermann und Partner GbR',
        'DE02120300000000202051',
        'Miete Januar, Wohnung 7',
        '20261230-1',
      ],
      [
        '2027-01-02',
        'booked',
        'Credit',
        120000n,
        'Örnek Ticaret A.Ş.',
        'TR330006100519786457841326',
        'Rechnung 0815 Dezember',
        '20270102-1',
      ],
      ['2027-01-02', 'booked', 'Debit', 550n, null, null, 'Gutschrift vom 30.12.', '20270102-2'],
      [
        '2026-12-01',
        'booked',
        'Debit',
        1250n,
        'VOORBEELD ENERGIE B.V.',
        'NL20INGB0001234567',
        'TERMIJN DECEMBER',
        null,
      ],
      [
        '2026-12-02',
        'booked',
        'Credit',
        10000n,
        'P VOORBEELD',
        'NL02RABO0123456789',
        '/TRTP/SEPA OVERBOEKING/IBAN/NL02RABO0123456789/BIC/RABONL2U/NAME/P VOORBEELD/REMI//EREF/NOTPROVIDED',
        null,
      ],
      ['2026-11-02', 'booked', 'Credit', 250000n, null, null, 'GELEN FAST ORNEK TICARET', 'GUNICI-1'],
      ['2026-11-02', 'pending', 'Credit', 90000n, null, null, 'BEKLENEN HAVALE', 'BEKLENEN-1'],
      [
        '2026-11-02',
        'booked',
        'Credit',
        500n,
        null,
        null,
        'EFT ACIKLAMA :something with a colon in front - and a line with a hyphen',
        null,
      ],
      ['2026-11-30', 'booked', 'Debit', 100n, null, null, null, null],
      ['2026-11-05', 'booked', 'Debit', 300n, null, null, 'CARD 1234', null],
      ['2026-12-01', 'booked', 'Credit', 100n, null, null, 'THE FILE ENDS HERE', null],
    ]);
  });
});

describe.skipIf(!existsSync(PUBLIC))('public samples', () => {
  const found = existsSync(PUBLIC)
    ? readdirSync(PUBLIC, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:sta|txt)$/.test(name))
        .sort()
    : [];

  it('all are in the table', () => {
    expect(found).toEqual(Object.keys(PUBLIC_COUNTS).sort());
  });

  it.each(found)('%s', async (name) => {
    expect(await countFile(path.join(PUBLIC, name))).toEqual(PUBLIC_COUNTS[name]);
  });
});
