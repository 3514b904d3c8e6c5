import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { ImportAnswer } from '../import-progress.ts';
import type { ExampleMovement } from './bank-files.ts';
import type { DemoCustomer } from './demo-customer.ts';

const INTERVAL = 1_000;

/** A customer, and the ids of its accounts by the example's `ref`. */
export interface TrafficCustomer {
  customer: DemoCustomer;
  accountIds: ReadonlyMap<string, string>;
}

/**
 * Imports one movement for each customer every second, until `signal` is aborted. Continues during outages, like a persistent client.
 */
export async function keepImporting(
  customers: readonly TrafficCustomer[],
  movements: readonly ExampleMovement[],
  signal: AbortSignal,
): Promise<void> {
  for (let number = 1; !signal.aborted; number += 1) {
    const movement = movements[number % movements.length];
    if (movement === undefined) throw new Error('The example statement is empty.');
    await Promise.all(
      customers.map(({ customer: { api }, accountIds }) => {
        const account_id = accountIds.get(movement.account_id);
        const transactions = [{ ...movement, account_id, unique_id: `TRAFFIC-${number}` }];
        return api.post('/v1/imports', { transactions }, ImportAnswer).catch(ignoreOutage);
      }),
    );
    await sleep(INTERVAL, undefined, { signal }).catch(() => {});
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof Failure)) throw error;
}
