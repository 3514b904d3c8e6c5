import { type Behaviour, failTwice } from './behaviours.ts';

/** One webhook of the demo. */
export interface Subscription {
  title: string;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT';
  /** The `ref` of one account in examples/accounts.json; null: all. */
  accountRef: string | null;
  encoding: 'json' | 'form';
  /** How many notifications may be on their way to it at the same time; left out: the API's default. */
  maxInFlight?: number;
  /** How its receiver behaves; left out: it accepts every genuine notification. */
  behaviour?: Behaviour;
}

export const SUBSCRIPTIONS: readonly Subscription[] = [
  { title: 'Everything', event: 'NEW_TRANSACTION', accountRef: null, encoding: 'json' },
  { title: 'Debits only', event: 'NEW_DEBIT', accountRef: null, encoding: 'json', behaviour: failTwice },
  { title: 'One account', event: 'NEW_TRANSACTION', accountRef: '2', encoding: 'form' },
];

/** Whether a movement matches a webhook. Follows the API's contract and uses none of the product's code. */
export function matches(
  { event, accountRef }: Subscription,
  movement: { dc: string; account_id: string },
  accountOf: (ref: string) => string = (ref) => ref,
): boolean {
  if (accountRef !== null && movement.account_id !== accountOf(accountRef)) return false;
  return event === 'NEW_TRANSACTION' || movement.dc === 'Debit';
}
