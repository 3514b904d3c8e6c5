import type { DataSource } from 'typeorm';
import type { NewAccount } from '../accounts/add-account.ts';
import { type Caller, maySee } from '../http/environment.ts';
import type { RemovedTime } from '../importing/removed-time.ts';
import type { KnownAccount } from '../importing/statements/find-account.ts';

/** The accounts of a dry run: those that the caller can see, and those that an import would create. */

export interface DryAccount extends KnownAccount {
  bank: string;
  title: string;
  /** An import would create it, and `id` is one that no account has. */
  isNew: boolean;
}

/** By the foreign key's index: a customer has few accounts. */
const ACCOUNTS = `
  SELECT a.id, a.currency, a.iban, a.number, a.title, b.name AS bank
  FROM accounts a JOIN banks b ON b.id = a.bank_id WHERE a.customer_id = ? AND a.status <> 'deleting' ORDER BY a.id`;

const REMOVED = 'SELECT removals, removed_before AS removedBefore FROM import_locks WHERE customer_id = ?';

/** New accounts are numbered from here, downwards. Ids in the database stay below 2^53. */
const LARGEST_ID = 10n ** 18n - 1n;

/** Reads the accounts that the caller can see. */
export async function readDryAccounts(database: DataSource, caller: Caller) {
  const rows = await database.query<Omit<DryAccount, 'isNew'>[]>(ACCOUNTS, [caller.customerId]);
  const visible = rows.filter(({ id }) => maySee(caller, id));
  const accounts = new Map(visible.map((row): [string, DryAccount] => [row.id, { ...row, isNew: false }]));
  const [removed] = await database.query<RemovedTime[]>(REMOVED, [caller.customerId]);
  let added = 0n;
  return {
    removedTime: removed ?? { removals: 0, removedBefore: null },
    all: (): KnownAccount[] => [...accounts.values()],
    ids: (): ReadonlySet<string> => new Set(accounts.keys()),
    find: (id: string): DryAccount | undefined => accounts.get(id),
    async add({ bank, title, currency, iban, number = null }: NewAccount): Promise<{ id: string }> {
      const id = String(LARGEST_ID - added);
      added += 1n;
      const name = 'name' in bank ? bank.name : '';
      accounts.set(id, { id, bank: name, title, currency, iban, number, isNew: true });
      return { id };
    },
  };
}
