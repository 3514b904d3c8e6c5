import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Dice } from '../dice.ts';
import { MARKER } from './movements.ts';
import { balanceAfter, type Entry, renderCamt, renderMt940 } from './statements.ts';
import type { ClientRecord } from './upload.ts';

const SECOND = 1_000;
const FIRST_DAY = Date.UTC(2026, 0, 1);
const DAY = 86_400 * SECOND;

/** A statement as a file. */
export interface StatementFile {
  name: string;
  content: string | Buffer<ArrayBuffer>;
}

export interface StatementClientOptions {
  name: string;
  customerId: string;
  account: { id: string; iban: string };
  /** Movements per second. */
  rate: number;
  dice: Dice;
  record: ClientRecord;
  /** @returns the import, if it is known. null: the file is not acknowledged; otherwise its entries must be stored. */
  send: (file: StatementFile) => Promise<string | true | null>;
  /** Withdraws an import, or its statement. Absent: the imports are not known. */
  withdraw?: (importId: string) => Promise<void>;
  /** When it is aborted, the current upload is completed, and then no more is sent. */
  stopping: AbortSignal;
}

/** A day of the account, with the entries that are booked so far. */
interface Day {
  date: string;
  opening: number;
  entries: Entry[];
}

/**
 * Sends statements of one account: interim ones of the day so far, then the final one, some of them together with the day before,
 * and some twice. Some are withdrawn, and their entries come again with a later one. They come as MT940 and as CAMT, whatever an earlier one
 * of the same day was. An entry must be stored once, however often it comes; two equal payments must be stored as two.
 */
export async function runStatementClient(options: StatementClientOptions): Promise<void> {
  const { rate, dice, record, send, withdraw, customerId, account, stopping } = options;
  const makeEntries = createEntryMaker(options);
  const holders: Holders = new Map();
  let before: Day | null = null;
  let today: Day = { date: dateOf(0), opening: dice.whole(-99_999, 9_999_999), entries: [] };
  let days = 1;
  for (let statements = 1; !stopping.aborted; statements += 1) {
    const made = makeEntries(today.date, dice.whole(1, 15));
    today.entries.push(...made);
    for (const { description, dc } of made) {
      const copies = made.filter((entry) => entry.description === description).length;
      record.sent.set(nameOf(description), {
        customerId,
        accountId: account.id,
        dc,
        acknowledged: false,
        copies,
      });
    }
    const isFinal = dice.whole(1, 4) === 1;
    const covered: readonly Day[] = before !== null && dice.whole(1, 5) === 1 ? [before, today] : [today];
    const file = toFile(options, covered, isFinal, statements);
    const importId = await send(file);
    if (importId !== null) acknowledge(record, covered, holders);
    const isWithdrawn = withdraw !== undefined && typeof importId === 'string' && dice.whole(1, 6) === 1;
    if (isWithdrawn) {
      takeBack(record, covered, holders);
      await withdraw(importId);
    }
    // The same content a second time must change nothing. A day without its final statement would be missing in the books.
    if ((isWithdrawn && isFinal) || dice.whole(1, 8) === 1) {
      if ((await send({ ...file, name: `${file.name}-again` })) !== null)
        acknowledge(record, covered, holders);
    }
    if (isFinal) {
      before = today;
      today = { date: dateOf(days), opening: balanceAfter(today.opening, today.entries), entries: [] };
      days += 1;
    }
    await sleep((made.length / rate) * SECOND * (0.5 + dice.next()), undefined, { signal: stopping }).catch(
      () => {},
    );
  }
}

const dateOf = (day: number): string => new Date(FIRST_DAY + day * DAY).toISOString().slice(0, 10);
const nameOf = (description: string): string => description.slice(0, description.indexOf(' '));

/** Makes entries with a name each. Some are two equal payments; banks give such entries no reference. */
function createEntryMaker({ name, dice }: Pick<StatementClientOptions, 'name' | 'dice'>) {
  let made = 0;
  return (date: string, count: number): Entry[] =>
    Array.from({ length: count }, () => {
      made += 1;
      const isTwice = dice.whole(1, 10) === 1;
      const entry: Entry = {
        date,
        dc: dice.pick(['Debit', 'Credit']),
        // Few amounts, so that many entries of a day have the same one.
        amount: dice.whole(1, 20) * 2_550,
        reference: isTwice || dice.whole(1, 3) === 1 ? '' : `R${made}`,
        description: `${name}-${made} ${MARKER} ŞÜKRÜ & "İnce"`,
      };
      return isTwice ? [entry, entry] : [entry];
    }).flat();
}

function toFile(
  { name, dice, account }: StatementClientOptions,
  days: readonly Day[],
  isFinal: boolean,
  statements: number,
): StatementFile {
  const statement = {
    number: `${name}-${statements}`,
    iban: account.iban,
    opening: days[0]?.opening ?? 0,
    openedOn: days[0]?.date ?? '',
    entries: days.flatMap(({ entries }) => entries),
  };
  const text = dice.pick([() => renderMt940(statement), () => renderCamt(statement, isFinal)])();
  return { name: statement.number, content: dice.whole(1, 3) === 1 ? gzipSync(text) : text };
}

/** How many imports that were acknowledged and not withdrawn have an entry, by its name. */
type Holders = Map<string, number>;

const namesIn = (days: readonly Day[]): Set<string> =>
  new Set(days.flatMap(({ entries }) => entries.map(({ description }) => nameOf(description))));

/** An import is withdrawn. What no other import has need not be stored any more. */
function takeBack(record: ClientRecord, days: readonly Day[], holders: Holders): void {
  for (const name of namesIn(days)) {
    const left = (holders.get(name) ?? 0) - 1;
    holders.set(name, left);
    if (left === 0) Object.assign(record.sent.get(name) ?? {}, { acknowledged: false, isWithdrawn: true });
  }
}

function acknowledge(record: ClientRecord, days: readonly Day[], holders: Holders): void {
  for (const name of namesIn(days)) {
    holders.set(name, (holders.get(name) ?? 0) + 1);
    Object.assign(record.sent.get(name) ?? {}, { acknowledged: true });
  }
}
