import fc from 'fast-check';

/** Valid movements, defined independently of the importer. */

const money = fc
  .tuple(
    fc.boolean(),
    fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }),
    fc.constantFrom('', '.5', '.05', '.50', '.00', '.500', '.0000'),
  )
  .map(([negative, whole, fraction]) => {
    const thousandths = fraction.slice(1, 4).padEnd(3, '0');
    const isZero = whole === 0n && thousandths === '000';
    return {
      written: `${negative ? '-' : ''}${whole}${fraction}`,
      stored: `${negative && !isZero ? '-' : ''}${whole}.${thousandths}`,
    };
  });

const letters = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 5 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\u202eters',
    'İIıiŞşĞğ',
    '\u2028',
    '\uFEFF',
    '\'\\"%_',
    '🙂',
    'a\r\nb',
    'e\u0301',
  ),
);

/** Texts up to the maximum length, with characters of one to four bytes (a character of four bytes is two UTF-16 units). */
const text = (length: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 8, arbitrary: letters },
    { weight: 1, arbitrary: fc.constantFrom('x', 'ğ', '€').map((letter) => letter.repeat(length)) },
    { weight: 1, arbitrary: fc.constant('🙂'.repeat(Math.floor(length / 2))) },
  );

const day = fc
  .date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

/** Few ids, so that they repeat in a file. They differ in case, spaces and accents. */
const uniqueId = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom('a', 'A', 'a ', ' a', 'á', 'a\u0000', '🙂', '🙃', 'x'.repeat(255)),
  },
  { weight: 1, arbitrary: fc.constantFrom(undefined, null, '', ' ') },
);

export const movement = fc.record({
  dc: fc.constantFrom('Debit', 'Credit'),
  code: text(64),
  amount: money,
  balance: fc.oneof(fc.constantFrom(undefined, null), money),
  description: text(4_000),
  date_issue: day,
  opponent_id: text(64),
  opponent_iban: text(64),
  name: text(255),
  unique_id: uniqueId,
});
