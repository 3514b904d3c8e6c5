import { describeColumn, type FixedLine, type Values } from '../shared/fixed-columns.ts';
import { keepKnown, readPaymentReference } from '../shared/payment-references.ts';
import { joinTexts, quote, squeeze } from '../shared/text.ts';
import type { Entry, EntryDetails, MinorUnits } from '../statement.ts';
import { readCounterparty, signedAmount } from './accounts.ts';
import { isReturn, readCommunication, readInformation } from './communications.ts';
import { cut, MOVEMENT, type MOVEMENT_2, type MOVEMENT_3, RECORD_LENGTH } from './records.ts';

/** A movement, with the records that belong to it. */
export interface Movement {
  line: number;
  first: Values<typeof MOVEMENT>;
  /** Why it cannot be read; null: it can. */
  fault: { path: string; message: string } | null;
  /** Negative for a debit. Null: it cannot be read. */
  amount: MinorUnits | null;
  second: Values<typeof MOVEMENT_2> | null;
  third: Values<typeof MOVEMENT_3> | null;
  /** Its records 3.1, which are new ones, and 3.2 and 3.3, which continue the one before. */
  information: { type: string; text: string; isNew: boolean }[];
  /** Some of its information was left out. */
  isFull: boolean;
}

/** Most texts of information of one movement: about 6,000 characters. */
const MAX_INFORMATION = 64;

/** Reads a movement (2.1). */
export function readMovement(line: FixedLine): Movement {
  const first = cut.movement(line.text);
  const amount = line.isLong ? null : signedAmount(first.sign, first.amount);
  return {
    ...{ line: line.line, first, amount, fault: findFault(first, line) },
    ...{ second: null, third: null, information: [], isFull: false },
  };
}

/** In a file that counts bytes of UTF-8, what follows such a letter is shifted, and a day could be read as another one. */
const NOT_ASCII = /[^\p{ASCII}]/u;

function findFault(first: Values<typeof MOVEMENT>, line: FixedLine): Movement['fault'] {
  if (line.isLong)
    return {
      path: 'record',
      message: `The movement (2.1) has more than 128 characters, line ${line.line}, so its columns are not certain.`,
    };
  if (line.text.length < RECORD_LENGTH && NOT_ASCII.test(line.text) && !line.isUnended)
    return {
      path: 'record',
      message: `The movement (2.1) has ${line.text.length} characters and not 128, line ${line.line}, so its columns are not certain. Its letters with accents may have been counted as several.`,
    };
  for (const key of ['sequence', 'detail', 'amount', 'date'] as const)
    if (first[key] === null)
      return { path: MOVEMENT.columns[key].name, message: describeColumn(MOVEMENT, key, line) };
  if (/^[01]$/.test(first.sign)) return null;
  return {
    path: 'sign',
    message: `The sign of the movement (2.1) is ${quote(first.sign)}, column 32 of line ${line.line}. It must be 0 (credit) or 1 (debit).`,
  };
}

/** Adds a record 3.1 to 3.3. @returns false if there is no room for its text, for the first time. */
export function addInformation(movement: Movement, { text }: FixedLine): boolean {
  const { information } = movement;
  if (movement.isFull) return true;
  if (information.length >= MAX_INFORMATION) {
    movement.isFull = true;
    return false;
  }
  if (text[1] === '1') {
    const { communicationType, communication } = cut.information(text);
    information.push({ type: communicationType, text: communication.padEnd(73), isNew: true });
    return true;
  }
  const continued =
    text[1] === '2'
      ? cut.information2(text).communication.padEnd(105)
      : cut.information3(text).communication.padEnd(90);
  information.push({ type: information.at(-1)?.type ?? '0', text: continued, isNew: false });
  return true;
}

interface Informed {
  text: string;
  name: string;
}

/** A free text goes on over several records, and is cut anywhere. */
function readAllInformation({ information }: Movement): Informed {
  const found: Informed = { text: '', name: '' };
  const free: string[] = [];
  for (const [at, { type, text, isNew }] of information.entries()) {
    if (type !== '1') free.push(text);
    if (type !== '1' || !isNew) continue;
    const [second, third] = information.slice(at + 1, at + 3).map((it) => (it.isNew ? null : it.text));
    const all = second ? text + second + (third ?? '') : text;
    const read = readInformation(type, all);
    found.name ||= read.name;
    free.push(` ${read.text} `);
  }
  found.text = squeeze(free.join(''));
  return found;
}

/** The booking of which a movement is a detail. */
interface Whole {
  movement: Movement;
  entry: Entry;
  /** There are several details, so that each says of which booking it is one. */
  isBatch: boolean;
}

/**
 * Makes the entry of a movement that can be read. docs/formats/coda.md has the table.
 * @param currency of the account. An amount in it is no original one.
 */
export function toEntry(movement: Movement, whole: Whole | null, currency: string | null): Entry {
  const { line, first, second, third } = movement;
  const communication = readCommunication(
    first.communicationType,
    first.communication.padEnd(53) +
      (second?.communication.padEnd(53) ?? '') +
      (third?.communication.padEnd(43) ?? ''),
  );
  const information = readAllInformation(movement);
  const amount = movement.amount ?? 0n;
  const total = whole?.movement;
  const reference = first.reference || total?.first.reference || null;
  const details = keepKnown<EntryDetails>({
    ...communication.details,
    ...(communication.details?.originalCurrency === currency && NO_ORIGINAL),
    valueDate: first.valueDate ?? undefined,
    endToEndId: readPaymentReference(second?.customerReference.replace(/^0+$/, '')),
    isReversal: isReturn(second?.returnType ?? '') ?? communication.details?.isReversal,
    batch:
      total === undefined || !whole?.isBatch
        ? undefined
        : { reference: total.first.reference || null, amount: total.amount ?? 0n },
  });
  const entry: Entry = {
    line,
    status: 'booked',
    // The details of a booking are booked on its day.
    date: total?.first.date ?? first.date ?? '',
    dc: amount < 0n ? 'Debit' : 'Credit',
    amount: amount < 0n ? -amount : amount,
    currency: null,
    balance: null,
    code: first.code || null,
    description: joinTexts(communication.text || null, information.text || null),
    name: third?.counterparty || information.name || null,
    ...readCounterparty(third?.account ?? ''),
    reference,
    ...(details === undefined ? {} : { details }),
  };
  if (whole !== null) inherit(entry, whole.entry);
  // A zero has no sign of its own.
  if (amount === 0n && first.sign === '1') entry.dc = 'Debit';
  return entry;
}

const NO_ORIGINAL = { originalAmount: undefined, originalCurrency: undefined, exchangeRate: undefined };

/** What a detail does not say is that of its booking: the text, and the counterparty. */
function inherit(entry: Entry, { description, name, opponentIban, opponentId }: Entry): void {
  entry.description ??= description;
  if (entry.name !== null || entry.opponentIban !== null || entry.opponentId !== null) return;
  Object.assign(entry, { name, opponentIban, opponentId });
}
