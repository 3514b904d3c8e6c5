import * as v from 'valibot';
import type { Account } from '../database/entities/account.ts';
import { Count, IdView, Timestamp } from '../http/schemas.ts';
import { formatMoment } from '../moment.ts';
import type { ZoneOffset } from '../zone-offset.ts';
import type { DeletionProgress } from './deletion-progress.ts';

export const BankView = v.object({ id: IdView, name: v.string() });

export const AccountView = v.object({
  id: IdView,
  bank: BankView,
  title: v.string(),
  balance: v.nullable(v.string()),
  currency: v.string(),
  iban: v.nullable(v.string()),
  number: v.nullable(v.string()),
  status: v.pipe(v.string(), v.description('active; or deleting, until all of its rows are deleted.')),
  last_work: v.nullable(v.string()),
  last_update: v.nullable(v.string()),
  error: v.nullable(v.string()),
  deletion: v.pipe(
    v.optional(v.object({ requested_at: Timestamp, movements: v.nullable(Count), movements_deleted: Count })),
    v.description(
      'How far the deletion is, while the status is deleting. movements: how many there were when the work began; null: it has not begun.',
    ),
  ),
});

/** @param progress of its deletion, if it is being deleted. */
export const viewAccount = (account: Account, zone: ZoneOffset, progress?: DeletionProgress) => ({
  id: Number(account.id),
  bank: { id: Number(account.bank.id), name: account.bank.name },
  title: account.title,
  balance: account.balance,
  currency: account.currency,
  iban: account.iban,
  number: account.number,
  status: account.status,
  last_work: account.lastWork === null ? null : formatMoment(account.lastWork, zone),
  last_update: account.lastUpdate === null ? null : formatMoment(account.lastUpdate, zone),
  error: account.error,
  ...(progress === undefined
    ? {}
    : {
        deletion: {
          requested_at: progress.requestedAt.toISOString(),
          movements: progress.movements,
          movements_deleted: progress.movementsDeleted,
        },
      }),
});
