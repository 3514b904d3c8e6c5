import { findAccount } from '../customers/accounts.ts';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Account } from '../database/account.ts';
import type { Runtime } from '../database/runtime.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { notFound } from '../platform/problem.ts';
import { requestAccountDeletion } from './request-deletion.ts';

/**
 * Accepts the deletion of an account, records it, and wakes the account's webhooks, so that their runs end.
 * @returns the account, which is being deleted.
 * @throws {Problem} 404.
 */
export async function acceptAccountDeletion(
  runtime: Runtime,
  caller: Caller,
  accountId: string,
): Promise<Account> {
  const { database, log } = runtime;
  const { customerId } = caller;
  const account = await findAccount(database, caller, accountId);
  const running = await requestAccountDeletion(database, { customerId, accountId }, (sql) =>
    recordChange(sql, caller, { action: 'delete', subject: `account ${accountId}` }),
  );
  if (running === null) throw notFound('account');
  await wakeWebhooks(runtime, running, { reread: true }).catch((err: unknown) =>
    log.warn({ err, accountId }, 'delivery runs not told of the deletion yet'),
  );
  account.status = 'deleting';
  return account;
}
