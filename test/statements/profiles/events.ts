import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import type { Entry, StatementEvent } from '../../../packages/statements/src/statement.ts';
import { entriesOf } from '../statement-events.ts';

/** Yields `text` in parts of these sizes, over and over. */
export async function* inParts(text: string, sizes: readonly number[] = [4096]): AsyncGenerator<string> {
  for (let at = 0, i = 0; at < text.length; i += 1) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1);
    yield text.slice(at, at + size);
    at += size;
  }
}

export async function collect(events: AsyncIterable<StatementEvent[]>): Promise<StatementEvent[]> {
  const all: StatementEvent[] = [];
  for await (const batch of events) all.push(...batch);
  return all;
}

export { entriesOf };

/** An entry on one line, without what it does not have. */
export const show = ({ date, dc, amount, balance, ...entry }: Entry): string =>
  [
    `${date} ${dc} ${formatAmount(amount, entry.currency)}${balance === null ? '' : ` = ${formatAmount(balance, entry.currency)}`}`,
    entry.status === 'booked' ? null : entry.status,
    entry.currency,
    entry.code,
    entry.description,
    entry.name,
    entry.opponentIban ?? entry.opponentId,
    entry.reference,
  ]
    .filter((part) => part !== null)
    .join(' | ');
