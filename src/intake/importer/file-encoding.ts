import type { AccountEncoding } from '../../../packages/statements/src/read-files.ts';
import type { KnownAccount } from './find-account.ts';

/**
 * The encoding in which a file is to be read: that of its source, else that of the account that the sender names, else that of the account
 * that the file names.
 */
export function fileEncoding(
  accounts: readonly KnownAccount[],
  { ofSource, accountId }: { ofSource: string | null; accountId: string | null },
): string | AccountEncoding[] | null {
  if (ofSource !== null) return ofSource;
  if (accountId !== null) return accounts.find(({ id }) => id === accountId)?.encoding ?? null;
  return accounts.flatMap(({ iban, number, encoding }) =>
    encoding ? [iban, number].flatMap((account) => (account === null ? [] : [{ account, encoding }])) : [],
  );
}
