import type { DataSource } from 'typeorm';
import type { NewAccount } from '../../customers/accounts.ts';
import { type Caller, maySee } from '../../customers/caller.ts';
import type { RemovedTime } from '../../ledger/movement.ts';
import type { OnConflict } from '../../ledger/row-fate.ts';
import type { KnownAccount } from '../importer/find-account.ts';

/** The accounts of a dry run: the accounts that the caller can see, and accounts that an import would create. */

export interface DryAccount extends KnownAccount {
  bank: string;
  title: string;
  on_conflict?: OnConflict;
  /** An import would create this account. No account has this `id`. */
  isNew: boolean;
}

/** By the foreign key's index: a customer has few accounts. */
const ACCOUNTS = `
  SELECT a.id, a.currency, a.iban, a.number, a.type, a.check_balances, a.has_statements, a.encoding, a.on_conflict, a.title, b.name AS bank
  FROM accounts a JOIN banks b ON b.id = a.bank_id WHERE a.customer_id = ? AND a.status <> 'deleting' ORDER BY a.id`;

const REMOVED = 'SELECT removals, removed_before AS removedBefore FROM import_locks WHERE customer_id = ?';

/** New accounts are numbered downwards from here. Ids in the database stay below 2^53. */
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
    byId: (): ReadonlyMap<string, KnownAccount> => accounts,
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
