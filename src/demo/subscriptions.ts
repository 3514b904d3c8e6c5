/** One webhook of the demo. */
export interface Subscription {
  title: string;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT';
  /** The `ref` of one account in examples/accounts.json; null: all. */
  accountRef: string | null;
  encoding: 'json' | 'form';
  /** Whether its receiver fails two calls: the second gets a 500, the third a connection that is dropped. */
  failsTwice: boolean;
}

export const SUBSCRIPTIONS: readonly Subscription[] = [
  { title: 'Everything', event: 'NEW_TRANSACTION', accountRef: null, encoding: 'json', failsTwice: false },
  { title: 'Debits only', event: 'NEW_DEBIT', accountRef: null, encoding: 'json', failsTwice: true },
  { title: 'One account', event: 'NEW_TRANSACTION', accountRef: '2', encoding: 'form', failsTwice: false },
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
