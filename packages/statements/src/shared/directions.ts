import { formatAmount } from '../amounts.ts';
import type { Entry, MinorUnits, StatementEvent } from '../statement.ts';

/**
 * Settles the direction of reversals. By the standards, the direction of an entry stands in the file, and the mark of a reversal (RC, RD,
 * RvslInd) turns nothing. Some banks write the direction of the entry that is taken back. Where both balances of a statement prove that,
 * the entry is turned.
 */

/** Most entries of a statement, from its first reversal on, that are kept until the closing balance comes. */
const MAX_HELD = 10_000;

const signed = ({ dc, amount }: Entry): MinorUnits => (dc === 'Debit' ? -amount : amount);

const isReversal = (event: StatementEvent): boolean =>
  event.type === 'entry' && event.entry.details?.isReversal === true;

/**
 * Passes events on. Holds those of a statement that has an opening balance back from its first reversal on, up to its closing balance, and
 * turns the entries whose other direction alone leads to that balance, with a warning for each.
 */
export async function* settleDirections(
  parts: AsyncIterable<StatementEvent[]>,
): AsyncGenerator<StatementEvent[]> {
  /** Null: the statement has no opening balance, or too many entries. */
  let balance: MinorUnits | null = null;
  let held: StatementEvent[] | null = null;
  let entries = 0;

  const count = (event: StatementEvent) => {
    if (event.type === 'statement') {
      balance = event.opening?.amount ?? null;
      entries = 0;
    } else if (event.type === 'entry' && balance !== null && event.entry.status === 'booked') {
      balance += signed(event.entry);
    }
  };
  const add = (event: StatementEvent, passed: StatementEvent[]) => {
    count(event);
    if (event.type === 'entry' && balance !== null) {
      if (isReversal(event)) held ??= [];
      if (held !== null) entries += 1;
    }
    if (held === null) {
      passed.push(event);
      return;
    }
    held.push(event);
    if (event.type === 'end' && event.closing !== null && balance !== null)
      held = turn(held, event.closing.amount - balance);
    if (event.type !== 'end' && entries < MAX_HELD) return;
    passed.push(...held);
    held = null;
    balance = null;
  };
  try {
    for await (const part of parts) {
      if (held === null && !part.some(isReversal)) {
        for (const event of part) count(event);
        yield part;
        continue;
      }
      const passed: StatementEvent[] = [];
      for (const event of part) add(event, passed);
      if (passed.length > 0) yield passed;
    }
  } catch (error) {
    // The entries before the place at which the file breaks off are stored.
    if (held !== null) yield held;
    throw error;
  }
  if (held !== null) yield held;
}

/**
 * Turns the only reading of reversals that makes up for a difference: one of them, or all of them, or all debits or all credits among
 * them. Other sets are not tried, because with many entries some set nearly always fits.
 */
function turn(events: StatementEvent[], difference: MinorUnits): StatementEvent[] {
  if (difference === 0n) return events;
  const reversals = events.flatMap((it) =>
    it.type === 'entry' && it.entry.status === 'booked' && it.entry.details?.isReversal ? [it.entry] : [],
  );
  // The details of a batch are one entry of the bank.
  const byBatch = new Map<object, Entry[]>();
  for (const entry of reversals) {
    const batch = entry.details?.batch ?? entry;
    byBatch.set(batch, [...(byBatch.get(batch) ?? []), entry]);
  }
  const readings = [
    ...byBatch.values(),
    reversals,
    reversals.filter(({ dc }) => dc === 'Debit'),
    reversals.filter(({ dc }) => dc === 'Credit'),
  ];
  const fitting = readings.filter(
    (entries) => entries.reduce((sum, it) => sum + signed(it), 0n) * -2n === difference,
  );
  const different = new Set(fitting.map((entries) => entries.map(({ line }) => line).join()));
  const [chosen] = fitting;
  if (chosen === undefined || different.size > 1) return events;
  const areTurned = new Set(chosen);
  return events.flatMap((event): StatementEvent[] => {
    if (event.type !== 'entry' || !areTurned.has(event.entry)) return [event];
    const entry = turned(event.entry);
    return [
      { type: 'warning', line: entry.line, message: explain(entry) },
      { type: 'entry', entry },
    ];
  });
}

function turned(entry: Entry): Entry {
  const { batch } = entry.details ?? {};
  return {
    ...entry,
    dc: entry.dc === 'Debit' ? 'Credit' : 'Debit',
    details: { ...entry.details, ...(batch && { batch: { ...batch, amount: -batch.amount } }) },
  };
}

const explain = ({ dc, amount, currency }: Entry): string =>
  `The reversal (RvslInd, RC or RD) over ${formatAmount(amount, currency)} stands in the file as a ${dc === 'Debit' ? 'credit' : 'debit'}. ` +
  `Only as a ${dc.toLowerCase()} does it lead to the closing balance, so it is read as a ${dc.toLowerCase()}.`;
