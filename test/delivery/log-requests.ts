import type { Sql } from '../../src/database/transaction.ts';
import type { LogRead } from '../../src/delivery/engine/log-ranges.ts';
import type { LogRequest, MovementLog } from '../../src/delivery/engine/movement-log.ts';
import type { Filter } from '../../src/webhook-record/filter.ts';
import type { Subscriber } from '../support/subscriber.ts';

export const EVERYTHING: Filter = { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false };

/** The read of a webhook that matches everything and begins at the start of the log. */
export const request = (
  { webhook, customerId }: Subscriber,
  fields: Partial<LogRequest> = {},
): LogRequest => ({
  webhookId: webhook.id,
  customerId,
  accountsDeleted: 0,
  filters: [{ from: 0, through: null, filter: EVERYTHING }],
  after: 0,
  highestRecordedId: 0,
  limit: 300,
  isExtended: false,
  ...fields,
});

export const only = (filter: Filter | null) => ({ filters: [{ from: 0, through: null, filter }] });

export const idsOf = ({ movements }: LogRead) => movements.map(({ transaction_id }) => transaction_id);

/** Reads until nothing is left. */
export async function readAll(log: MovementLog, first: LogRequest): Promise<string[]> {
  const ids: string[] = [];
  for (let after = first.after; ; ) {
    const read = await log.read({ ...first, after });
    ids.push(...idsOf(read));
    if (read.through === after) return ids;
    after = read.through;
  }
}

/** Collects the statements that are sent. */
export function watchStatements(database: Sql): { sql: Sql; statements: string[] } {
  const statements: string[] = [];
  return {
    statements,
    sql: {
      query: <T>(statement: string, values?: unknown[]) => {
        statements.push(statement);
        return database.query<T>(statement, values);
      },
    },
  };
}
