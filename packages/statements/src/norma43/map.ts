import { describeColumn, type FixedLine } from '../shared/fixed-columns.ts';
import { joinTexts, quote, squeeze } from '../shared/text.ts';
import type { Entry, EntryDetails, MinorUnits } from '../statement.ts';
import { describeSign, type Fault } from './account.ts';
import { currencyOf } from './currencies.ts';
import { cutEquivalent, cutMovement, cutText, EQUIVALENT, LENGTH, MOVEMENT } from './records.ts';

/** Most texts (23) of a movement (Cuaderno 43, record 23: 01 to 05). */
const MOST_TEXTS = 5;
const TEXT_LENGTH = 76;

/** A movement (22), to which its texts (23) and its amount in another currency (24) are added. */
export interface Movement {
  line: number;
  dc: Entry['dc'] | null;
  /** Null: it cannot be read. */
  amount: MinorUnits | null;
  date: string | null;
  /** Why it is no entry; null: it is one. */
  fault: Fault | null;
  addText(line: FixedLine): void;
  addEquivalent(line: FixedLine): void;
  toEntry(): Entry;
  /** Errors that cost no entry. */
  warnings: { line: number; message: string }[];
}

/** Reads a movement (record 22). */
export function readMovement(line: FixedLine): Movement {
  const values = cutMovement(line.text);
  const { date, sign, amount } = values;
  const dc = sign === '1' ? 'Debit' : sign === '2' ? 'Credit' : null;
  const warnings: Movement['warnings'] = [];
  const texts: string[] = [];
  let count = 0;
  let isTextLong = false;
  let hasEquivalent = false;
  const equivalent: Pick<EntryDetails, 'originalAmount' | 'originalCurrency'> = {};

  const findFault = (): Fault | null => {
    const column = (key: string) => describeColumn(MOVEMENT, key, line);
    if (line.isLong)
      return {
        path: 'record',
        message: `The movement (22) has more than ${LENGTH} characters, so its columns may be shifted.`,
      };
    if (date === null) return { path: 'operation date', message: column('date') };
    if (sign === null) return { path: 'sign', message: column('sign') };
    if (dc === null) return { path: 'sign', message: describeSign('sign of the movement (22)', sign, line) };
    return amount === null ? { path: 'amount', message: column('amount') } : null;
  };

  return {
    line: line.line,
    dc: line.isLong ? null : dc,
    amount: line.isLong ? null : amount,
    date,
    fault: findFault(),
    warnings,
    addText(more) {
      count += 1;
      if (count > MOST_TEXTS) {
        if (count === MOST_TEXTS + 1)
          warnings.push({
            line: more.line,
            message: `The movement (22) has more than ${MOST_TEXTS} texts (23). The others were left out.`,
          });
        return;
      }
      if (more.isLong && !isTextLong) {
        isTextLong = true;
        warnings.push({
          line: more.line,
          message: `The text (23) has more than ${LENGTH} characters. Its end was left out.`,
        });
      }
      texts.push(cutText(more.text).concepts.padEnd(TEXT_LENGTH));
    },
    addEquivalent(more) {
      // A movement has one of them. A file may have a million.
      if (hasEquivalent) return;
      hasEquivalent = true;
      const { currency, amount: original } = cutEquivalent(more.text);
      const code = currencyOf(currency);
      const warn = (message: string) => warnings.push({ line: more.line, message });
      if (more.isLong) warn(`The record 24 has more than ${LENGTH} characters. It was left out.`);
      else if (original === null) warn(`${describeColumn(EQUIVALENT, 'amount', more)} It was left out.`);
      else if (code === null)
        warn(
          `The currency of the record 24 is ${quote(currency)}. It must be the number of a currency of ISO 4217. The record was left out.`,
        );
      else Object.assign(equivalent, { originalAmount: original, originalCurrency: code });
    },
    toEntry() {
      const { document, reference1, reference2, concepts, valueDate } = values;
      // Some banks write words into a reference. They are text.
      const written = [reference1, reference2, document].filter((it) => !isZero(it));
      const reference = written.find((it) => /\d/.test(it)) ?? null;
      // A text that fills its columns goes on in the next ones, also within a word, so that they are joined without a blank.
      let description: string | null = squeeze(texts.join('')) || null;
      for (const other of written)
        if (other !== reference) description = joinTexts(description, squeeze(other));
      const details = { ...(valueDate === null ? {} : { valueDate }), ...equivalent };
      return {
        line: line.line,
        status: 'booked',
        date: date ?? '',
        dc: dc ?? 'Debit',
        amount: amount ?? 0n,
        currency: null,
        balance: null,
        code: concepts || null,
        description: description ?? reference,
        name: null,
        opponentId: null,
        opponentIban: null,
        reference,
        ...(reference !== null && { isOwnReference: true as const }),
        ...(Object.keys(details).length > 0 && { details }),
      };
    },
  };
}

/** Banks fill a reference that they do not have with zeros. */
const isZero = (reference: string): boolean => /^0*$/.test(reference);
