import * as v from 'valibot';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import type { MinorUnits } from '../../packages/statements/src/statement.ts';
import { LISTED_REASONS } from '../ledger/row-fate.ts';
import { Count, IdView, withExample } from '../platform/validation.ts';
import { ContentView, StoredView, viewContent, viewStoredMovement } from './conflict-view.ts';
import type { DryAccount } from './dry-run/dry-accounts.ts';
import { type DryRun, type DryStatement, MAX_LISTED } from './dry-run/dry-run.ts';
import { IssueView, WarningView } from './import-view.ts';

/** The answer to a dry run of an import. */

const NewId = v.pipe(v.nullable(IdView), v.description('null: an import would create the account.'));

const AccountName = v.pipe(
  v.nullable(v.string()),
  v.description('The IBAN of the account, or else its number, or else its title.'),
);

const Sum = v.nullable(v.string());

const first = <Input>(what: string) =>
  v.description<Input, string>(`The first ${MAX_LISTED.toLocaleString('en-US')} ${what}.`);

export const DryRunView = v.object({
  dry_run: v.object({
    status: v.pipe(v.picklist(['done', 'failed']), v.description('How an import of this file would end.')),
    error: v.pipe(
      withExample(v.nullable(v.string()), 'Line 14 is cut off.'),
      v.description('Why the rest of the file cannot be read.'),
    ),
    format: v.string(),
    received: v.pipe(Count, v.description('All rows.')),
    inserted: v.pipe(Count, v.description('Rows that would be stored.')),
    duplicates: v.pipe(Count, v.description('Rows that are known already.')),
    changed: v.pipe(Count, v.description('Duplicates with another text or balance than what is stored.')),
    assumed_duplicates: v.pipe(
      Count,
      v.description(
        'Duplicates without an id. They equal a stored movement, but nothing proves that they are the same.',
      ),
    ),
    conflicts: v.pipe(
      Count,
      v.description('Rows with the unique_id of a stored movement and another direction, amount or date.'),
    ),
    assumed_new: v.pipe(
      Count,
      v.description(
        'Rows that would be stored although they may be known, because nothing proves the opposite.',
      ),
    ),
    rejected: Count,
    statements: Count,
    warnings: Count,
  }),
  transactions: v.pipe(
    v.array(
      v.object({
        line: Count,
        known: v.pipe(v.boolean(), v.description('true: stored already, or earlier in the file.')),
        reason: v.pipe(
          withExample(v.nullable(v.picklist(LISTED_REASONS)), 'changed'),
          v.description(
            'Why it counts as known. assumed_new: it would be stored, and may be known. null: it is new.',
          ),
        ),
        stored: v.pipe(
          v.nullable(StoredView),
          v.description(
            'The stored movement that the row was taken for. null: the row is new or was taken for an earlier row of the file, or the API key lacks the scope read.',
          ),
        ),
        account_id: NewId,
        account: AccountName,
        ...ContentView,
      }),
    ),
    first('rows that are not rejected'),
  ),
  errors: v.pipe(v.array(IssueView), first('reasons why rows are rejected')),
  warnings: v.pipe(v.array(WarningView), first('warnings')),
  statements: v.pipe(
    v.array(
      withExample(
        v.object({
          line: Count,
          file: v.pipe(v.nullable(v.string()), v.description('The name of the file within a zip.')),
          format: v.string(),
          account_id: v.pipe(
            v.nullable(IdView),
            v.description(
              'null: an import would create the account, or there is no account and problem says why.',
            ),
          ),
          account: v.pipe(v.nullable(v.string()), v.description('The account as the statement names it.')),
          problem: v.pipe(
            v.nullable(v.string()),
            v.description('Why there is no account for it. Its rows are rejected.'),
          ),
          currency: v.nullable(v.string()),
          opening: Sum,
          credits: Sum,
          debits: Sum,
          closing: Sum,
          difference: v.pipe(
            Sum,
            v.description(
              'closing minus the balance that opening, credits and debits give. null: a balance is missing.',
            ),
          ),
        }),
        {
          line: 1,
          file: 'november.sta',
          format: 'mt940',
          account_id: 1,
          account: 'TR320001000000099000000404',
          problem: 'No account has this IBAN.',
          currency: 'TRY',
          opening: '25000.00',
          credits: '12500.00',
          debits: '0.00',
          closing: '37540.00',
          difference: '40.00',
        },
      ),
    ),
    first('statements'),
  ),
  accounts: v.pipe(
    v.array(
      v.object({
        id: NewId,
        bank: v.string(),
        title: v.string(),
        currency: v.string(),
        iban: v.nullable(v.string()),
        number: withExample(v.nullable(v.string()), '9900000040'),
      }),
    ),
    v.description('The accounts of the listed rows and statements.'),
  ),
});

type FindDryAccount = (id: string) => DryAccount | undefined;

const idOf = (account: DryAccount | undefined) =>
  account === undefined || account.isNew ? null : Number(account.id);

/**
 * @param format the format that the sender named; for `auto`, the format of the first statement is shown.
 * @param mayRead whether the sender may see stored movements.
 */
export function viewDryRun(
  run: DryRun,
  format: string,
  find: FindDryAccount,
  mayRead: boolean,
): v.InferOutput<typeof DryRunView> {
  const { error, received, counts, rejected, rows, errors, warnings, statements } = run;
  const found = statements.flatMap(({ account }) => ('id' in account ? [account.id] : []));
  const ids = new Set([...found, ...rows.map(({ movement }) => movement.account_id)]);
  return {
    dry_run: {
      status: error === null ? 'done' : 'failed',
      error,
      format: statements[0]?.format ?? format,
      received,
      inserted: counts.inserted,
      duplicates: counts.duplicates,
      changed: counts.changed,
      assumed_duplicates: counts.assumed,
      assumed_new: counts.assumedNew,
      conflicts: counts.conflicts,
      rejected,
      statements: run.statementCount,
      warnings: run.warningCount,
    },
    transactions: rows.map((row) => viewRow(row, find, mayRead)),
    errors,
    warnings,
    statements: statements.map((statement) => viewStatement(statement, find)),
    accounts: [...ids].flatMap((id) => {
      const account = find(id);
      if (account === undefined) return [];
      const { bank, title, currency, iban, number } = account;
      return [{ id: idOf(account), bank, title, currency, iban, number }];
    }),
  };
}

function viewRow({ line, movement, ...row }: DryRun['rows'][number], find: FindDryAccount, mayRead: boolean) {
  const stored = mayRead ? row.stored : null;
  const account = find(movement.account_id);
  return {
    line,
    known: row.fate !== null && row.fate.reason !== 'assumed_new',
    reason: row.fate?.reason ?? null,
    stored: stored === null ? null : viewStoredMovement(stored, account?.currency ?? null),
    account_id: idOf(account),
    account: account?.iban ?? account?.number ?? account?.title ?? null,
    ...viewContent(movement, account?.currency ?? null),
  };
}

const sum = (amount: MinorUnits | null | undefined, currency: string | null): string | null =>
  amount === null || amount === undefined ? null : formatAmount(amount, currency);

function viewStatement(
  { line, file, format, reference, account, totals }: DryStatement,
  find: FindDryAccount,
) {
  const isFound = 'id' in account;
  const currency = isFound ? account.currency : reference.currency;
  return {
    line,
    file,
    format,
    account_id: isFound ? idOf(find(account.id)) : null,
    account: reference.iban ?? reference.number,
    problem: isFound ? null : account.problem,
    currency,
    opening: sum(totals?.opening, currency),
    credits: sum(totals?.credits, currency),
    debits: sum(totals?.debits, currency),
    closing: sum(totals?.closing, currency),
    difference: sum(totals?.difference, currency),
  };
}
