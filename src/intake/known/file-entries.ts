import { MARGIN } from '../../../packages/reconcile/src/books.ts';
import type { ReceivedStatement, StatementRow } from '../../../packages/reconcile/src/statement.ts';
import { parseThousandths } from '../../../packages/statements/src/amounts.ts';
import { addDays } from '../../../packages/statements/src/values.ts';
import type { EntryStatement } from '../importer/rows.ts';
import type { Chunk } from '../importer/store-chunk.ts';
import { fingerprintOf } from '../statements.ts';
import type { StatementEntry } from './entry.ts';
import { type Days, isBroken, signedAmount, textOf } from './read-stored.ts';
import { shortenReference } from './statement-id.ts';

/** Collects the data that identifies the entries of a file: about 300 bytes for each entry. */

/** The entries of a file about one account. */
export interface AccountEntries {
  statements: FileStatement[];
  days: Days[];
}

export interface FileStatement extends ReceivedStatement {
  rows: StatementRow[];
  /** The line of the first row. */
  line: number;
  /** The number of each row in the file. */
  indexes: number[];
}

interface FileEntries {
  add(chunk: Pick<Chunk, 'entries' | 'ended'>): void;
  /** @returns the entries by account. */
  end(): Map<string, AccountEntries>;
}

export function createFileEntries(): FileEntries {
  const statements = new Map<EntryStatement, FileStatement & { accountId: string }>();
  return {
    add({ entries, ended }) {
      for (const entry of entries) {
        const { statement, index } = entry;
        const known = statements.get(statement) ?? open(entry);
        statements.set(statement, known);
        known.rows.push(toRow(entry));
        known.indexes.push(index);
      }
      for (const it of ended) {
        const known = statements.get(it.statement);
        if (known === undefined) continue;
        const isRight = it.difference === null || it.difference === 0n;
        known.number = it.number;
        known.sequence = it.sequence;
        known.from = it.from;
        known.to = it.to;
        known.opening = isRight ? it.opening : null;
        known.closing = isRight ? it.closing : null;
        known.fingerprint = fingerprintOf(it).toString('hex');
      }
    },
    end() {
      const accounts = new Map<string, AccountEntries>();
      for (const { accountId, ...statement } of statements.values()) {
        const account = accounts.get(accountId) ?? { statements: [], days: [] };
        accounts.set(accountId, account);
        account.statements.push(statement);
      }
      for (const account of accounts.values()) account.days = daysOf(account.statements);
      return accounts;
    },
  };
}

const open = ({ line, movement, statement: { kind, format, file, opening } }: StatementEntry) => ({
  accountId: movement.account_id,
  line,
  kind,
  format,
  file,
  number: null as string | null,
  sequence: null as string | null,
  from: null as string | null,
  to: null as string | null,
  opening,
  closing: null as bigint | null,
  fingerprint: null as string | null,
  rows: [] as StatementRow[],
  indexes: [] as number[],
});

const toRow = ({
  movement,
  reference,
  details: { batch, isOwnReference, isReversal },
}: StatementEntry): StatementRow => ({
  day: movement.date_issue,
  amount: signedAmount(movement),
  balance: movement.balance === null ? null : parseThousandths(movement.balance),
  reference: shortenReference(reference),
  text: textOf(movement),
  ...(isBroken(movement) && { isBroken: true as const }),
  ...(isOwnReference && { isOwnReference }),
  ...(isReversal && { isReversal }),
  ...(batch && { batch: { reference: shortenReference(batch.reference), total: batch.amount } }),
});

/** The days of the statements, and three days before and after: another format may have an entry under another day. Ranges that meet are joined. */
function daysOf(statements: readonly FileStatement[]): Days[] {
  const ranges = statements
    .map(({ rows, to }): Days => {
      const days = to === null ? [] : [to];
      let [from, last] = [days[0] ?? rows[0]?.day ?? '', days[0] ?? ''];
      for (const { day } of rows) {
        if (day < from) from = day;
        if (day > last) last = day;
      }
      return { from: addDays(from, -MARGIN), to: addDays(last, MARGIN) };
    })
    .sort((one, other) => (one.from < other.from ? -1 : 1));
  const joined: Days[] = [];
  for (const range of ranges) {
    const before = joined.at(-1);
    if (before === undefined || range.from > before.to) joined.push({ ...range });
    else if (range.to > before.to) before.to = range.to;
  }
  return joined;
}
