import * as v from 'valibot';
import type { Account } from '../database/entities/account.ts';
import { IdView } from '../http/schemas.ts';
import { formatMoment } from '../moment.ts';
import type { ZoneOffset } from '../zone-offset.ts';

export const BankView = v.object({ id: IdView, name: v.string() });

export const AccountView = v.object({
  id: IdView,
  bank: BankView,
  title: v.string(),
  balance: v.nullable(v.string()),
  currency: v.string(),
  iban: v.nullable(v.string()),
  number: v.nullable(v.string()),
  status: v.string(),
  last_work: v.nullable(v.string()),
  last_update: v.nullable(v.string()),
  error: v.nullable(v.string()),
});

export const viewAccount = (account: Account, zone: ZoneOffset) => ({
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
});
