import type { Sql } from '../../database/transaction.ts';
import { type Extended, readExtended } from '../../movements/extended.ts';
import type { LoggedMovement, NotifiedMovement } from '../run/types.ts';

/** Reads movements with the fields that a notification has. */

/** Where each field of a notified movement comes from. */
const COLUMNS = {
  transaction_id: 't.id',
  dc: 't.dc',
  code: 't.code',
  amount: 't.amount',
  balance: 't.balance',
  currency: 'a.currency',
  description: 't.description',
  account_id: 't.account_id',
  account: 'a.title',
  bank: 'b.name',
  opponent_id: 't.opponent_id',
  opponent_iban: 't.opponent_iban',
  date_issue: 't.date_issue',
  stored_at: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.date_readed)",
} satisfies Record<Exclude<keyof LoggedMovement, 'extended' | 'withdraws'>, string>;

const select = (columns: Record<string, string>): string =>
  Object.entries(columns)
    .map(([name, column]) => `${column} AS ${name}`)
    .join(', ');

/** The columns of a movement for `transactions t`, `accounts a` and `banks b`. */
export const MOVEMENT_COLUMNS = select(COLUMNS);

/** The columns of the withdrawal of a movement, for `withdrawn_transactions t`, `accounts a` and `banks b`. */
export const WITHDRAWAL_COLUMNS = select({
  ...COLUMNS,
  transaction_id: 't.event_id',
  withdraws: 't.id',
  stored_at: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.withdrawn_at)",
});

/** The same columns as NULLs, for the first SELECT of a UNION, which names the columns. */
export const NO_MOVEMENT_COLUMNS = Object.keys(COLUMNS)
  .map((name) => `NULL AS ${name}`)
  .join(', ');

/**
 * Adds the bank's data beyond the twelve fields, for a webhook with an extended body. Index: the primary key.
 * @returns copies, because other webhooks share the movements and have other bodies. Without those with the highest ids, of movements and of
 * withdrawals, if the details are long. The ones with the lowest ids are there.
 */
export async function extend<T extends NotifiedMovement>(sql: Sql, movements: readonly T[]): Promise<T[]> {
  const found = new Map<T, Extended>();
  const unread = new Set<T>();
  const read = async (some: readonly T[], table: 'transactions' | 'withdrawn_transactions') => {
    const idOf = (it: T) => it.withdraws ?? it.transaction_id;
    const ofTable = await readExtended(sql, some.map(idOf), table);
    for (const it of some) {
      const extended = ofTable.extended.get(idOf(it));
      if (extended !== undefined) found.set(it, extended);
      if (ofTable.unread.includes(idOf(it))) unread.add(it);
    }
  };
  await read(
    movements.filter(({ withdraws }) => withdraws === undefined),
    'transactions',
  );
  await read(
    movements.filter(({ withdraws }) => withdraws !== undefined),
    'withdrawn_transactions',
  );
  return movements.flatMap((movement) => {
    if (unread.has(movement)) return [];
    const extended = found.get(movement);
    return extended === undefined ? movement : { ...movement, extended };
  });
}
