import type { Delivery, LoggedMovement } from './run/types.ts';

/** Turns a movement of the log into a delivery that was never attempted. */
export const toNewDelivery = (movement: LoggedMovement): Delivery => ({
  transactionId: Number(movement.transaction_id),
  source: 'log',
  attempts: 0,
  failures: 0,
  movement,
});

/** A movement of an account that is being deleted counts as deleted already: its delivery fails for good, and is not sent. */
export function withoutDeleted(
  deliveries: readonly Delivery[],
  deletedAccounts: readonly string[],
): Delivery[] {
  const deleted = new Set(deletedAccounts);
  return deliveries.map((delivery) =>
    deleted.has(delivery.movement?.account_id ?? '') ? { ...delivery, movement: null } : delivery,
  );
}
