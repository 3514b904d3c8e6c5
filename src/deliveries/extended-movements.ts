import { readExtended } from '../movements/extended.ts';
import type { Sql } from '../platform/database/transaction.ts';
import type { NotifiedMovement } from './posting/notification.ts';
import type { Delivery, LoggedMovement } from './run/types.ts';

/** Adds what banks say beyond the twelve fields, for webhooks with an extended body. */

/** @returns copies: other webhooks share the movements that were read from the log, and have other bodies. */
export async function extend<T extends NotifiedMovement>(sql: Sql, movements: readonly T[]): Promise<T[]> {
  const extended = await readExtended(
    sql,
    movements.map(({ transaction_id }) => transaction_id),
  );
  return movements.map((movement) => {
    const found = extended.get(movement.transaction_id);
    return found === undefined ? movement : { ...movement, extended: found };
  });
}

/** Extends the movements of deliveries that are due again. */
export async function extendDeliveries(sql: Sql, deliveries: readonly Delivery[]): Promise<Delivery[]> {
  const movements = deliveries.flatMap(({ movement }) =>
    movement === null || 'type' in movement ? [] : [movement],
  );
  const extended = new Map<string, LoggedMovement>(
    (await extend(sql, movements)).map((movement) => [movement.transaction_id, movement]),
  );
  return deliveries.map((delivery) => ({
    ...delivery,
    movement: extended.get(String(delivery.transactionId)) ?? delivery.movement,
  }));
}
