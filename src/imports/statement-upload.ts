import type { Context } from 'hono';
import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { hasAccount } from '../accounts/has-account.ts';
import type { ApiEnv } from '../http/environment.ts';
import { invalidIssues, readQuery } from '../http/input.ts';
import type { Parameter } from '../http/openapi.ts';
import type { StatementOptions } from '../importing/stage.ts';
import { STATEMENT_FORMATS, type StatementFormat } from '../importing/statements/formats.ts';
import { Id } from '../validation.ts';

/** What comes with a statement file: its format, and how it is to be read. */

/** Content types of statement files. The content decides which format it is, whatever the type. */
export const STATEMENT_TYPES = [
  'application/octet-stream',
  'text/csv',
  'application/xml',
  'text/xml',
  'application/x-ofx',
  'application/vnd.intu.qfx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/gzip',
  'application/zip',
] as const;

/** Whether a dry run is asked for: nothing is stored then. */
export const DryRunParameter = v.optional(
  v.picklist(['true', 'false'], 'must be "true" or "false"'),
  'false',
);

const FORMATS = ['auto', ...STATEMENT_FORMATS] as const;

const Query = v.strictObject({
  format: v.optional(v.picklist(FORMATS, `must be one of ${FORMATS.join(', ')}`), 'auto'),
  account_id: v.optional(Id),
  profile: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/, 'must be the name of a profile, such as "garanti-bbva"')),
  ),
  create_accounts: v.optional(v.picklist(['true', 'false'], 'must be true or false'), 'false'),
  dry_run: DryRunParameter,
});

/** The same for the document. */
export const STATEMENT_PARAMETERS: Record<string, Parameter> = {
  account_id: {
    description:
      'Statement files only: the account that all statements in the file are about. By default each statement says which.',
    schema: { type: 'integer', minimum: 1 },
  },
  profile: {
    description:
      'CSV and XLSX only: the name of the profile that describes the columns. By default the headings decide.',
    schema: { type: 'string', pattern: '^[a-z0-9-]{1,40}$' },
  },
  create_accounts: {
    description:
      'Statement files only: whether accounts that you do not have are created. Needs a key for all accounts.',
    schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
  },
};

/** Reads how a statement file is to be read. @throws {Problem} 422 when a parameter is wrong, or the account is not the caller's. */
export async function readStatementUpload(
  c: Context<ApiEnv>,
  database: DataSource,
): Promise<{ format: StatementFormat | 'auto'; statement: StatementOptions; isDryRun: boolean }> {
  const query = readQuery(c, Query);
  const { format, account_id: accountId = null, profile = null, create_accounts } = query;
  const createAccounts = create_accounts === 'true';
  const caller = c.get('caller');
  if (accountId !== null && !(await hasAccount(database, caller, accountId))) {
    throw invalidIssues([{ path: 'account_id', message: 'is not one of your accounts' }]);
  }
  if (createAccounts && caller.accountIds !== 'all') {
    throw invalidIssues([{ path: 'create_accounts', message: 'needs an API key for all accounts' }]);
  }
  const isDryRun = query.dry_run === 'true';
  return { format, statement: { accountId, profile, createAccounts }, isDryRun };
}
