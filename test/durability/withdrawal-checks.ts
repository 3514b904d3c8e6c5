import type { Evidence, Findings, ListedMovement } from './checker.ts';
import { type ChaosWebhook, matches, type Told } from './webhooks.ts';

/** Checks what a run has withdrawn: the tables, the listings, and what receivers have in the end. */

export function checkWithdrawals(
  {
    sent,
    stored,
    withdrawn,
    withdrawals,
    asked,
    miscountedWithdrawals,
    miscountedSegments,
    keptWithoutCause,
  }: Evidence,
  findings: Findings,
): void {
  findings['withdrawals that miscount'].push(...miscountedWithdrawals);
  findings['segments of the listing that miscount'].push(...miscountedSegments);
  findings['kept without a cause'].push(...keptWithoutCause);

  const statuses = new Map(withdrawals.map(({ id, status }) => [id, status]));
  for (const id of new Set([
    ...asked.keys(),
    ...statuses.keys(),
    ...withdrawn.map((it) => it.withdrawalId),
  ])) {
    const status = statuses.get(id) ?? 'not stored';
    if (status !== 'done' || !asked.has(id))
      findings['withdrawals that are not done'].push(`${id} of ${asked.get(id) ?? 'nothing'} is ${status}`);
  }

  const ids = new Set(stored.map(({ id }) => id));
  const times = new Map<string, number>();
  for (const { name } of stored) times.set(name, (times.get(name) ?? 0) + 1);
  for (const { id, eventId, name, customerId, accountId, dc } of withdrawn) {
    times.set(name, (times.get(name) ?? 0) + 1);
    if (ids.has(id) || ids.has(eventId)) findings['both stored and withdrawn'].push(id);
    const origin = sent.get(name);
    const isRight = origin?.customerId === customerId && origin.accountId === accountId && origin.dc === dc;
    if (!isRight || origin.isWithdrawn !== true)
      findings['withdrawn and never asked for, or changed'].push(`${name}, ${id}`);
  }
  for (const [name, { isWithdrawn, copies }] of sent) {
    const count = times.get(name) ?? 0;
    if (isWithdrawn === true && count < copies)
      findings['lost by a withdrawal'].push(`${name} ${count} times instead of ${copies}`);
  }
}

export function checkListings({ stored, withdrawn, listings }: Evidence, findings: Findings): void {
  const compare = (listed: readonly ListedMovement[], found: readonly ListedMovement[], what: string) => {
    const ids = new Set(listed.map(({ id }) => id));
    const missing = found.filter(({ id }) => !ids.has(id)).map(({ id }) => `${id}, ${what}, is not listed`);
    const known = new Set(found.map(({ id }) => id));
    const other = listed
      .filter(({ id }) => !known.has(id))
      .map(({ id }) => `${id} is listed and not ${what}`);
    const twice = ids.size === listed.length ? [] : [`${listed.length - ids.size} listed twice`];
    findings['listed otherwise than stored'].push(...missing, ...other, ...twice);
  };
  for (const listing of listings) {
    const own = <T extends ListedMovement>(rows: readonly T[]) =>
      rows.filter(({ customerId }) => customerId === listing.customerId);
    compare(listing.stored, own(stored), 'stored');
    compare(listing.withdrawn, own(withdrawn), 'withdrawn');
  }
}

/**
 * Compares what is listed with what a receiver has that stores each movement, and drops it when it hears of its withdrawal, in whichever
 * order they come.
 * @returns what the receiver misses, or has too many.
 */
export function compareWithListing(
  { listings, old }: Evidence,
  webhook: Pick<ChaosWebhook, 'id' | 'event' | 'accountId' | 'customer'>,
  told: readonly Told[],
): string[] {
  const listing = listings.find(({ customerId }) => customerId === webhook.customer.id);
  const listed = (listing?.stored ?? []).filter((it) => matches(webhook, it)).map(({ id }) => id);
  const dropped = new Set(told.filter((it) => it.isWithdrawal).map((it) => it.movementId));
  const has = new Set(told.map((it) => it.movementId).filter((id) => !dropped.has(id)));
  const isOld = new Set(old.map(({ id }) => id));
  const missing = listed.filter((id) => !has.has(id)).map((id) => `${id} is missing`);
  const expected = new Set(listed);
  const tooMany = [...has].filter((id) => !expected.has(id) && !isOld.has(id));
  return [...missing, ...tooMany.map((id) => `${id} is not listed`)];
}
