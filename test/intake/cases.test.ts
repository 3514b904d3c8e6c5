import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

/**
 * Bank files after public bug reports, and what a bookkeeper wants to find after they were sent. test/cases/README.md says what the
 * fields of cases.json mean.
 */

const BESIDE = join(import.meta.dirname, '../../../shared');
/** All cases if they are beside the repository, else those whose files were made for this test. */
const FOLDERS = existsSync(BESIDE)
  ? [join(BESIDE, 'cases'), join(BESIDE, 'cases6')]
  : [join(import.meta.dirname, '../cases')];

interface Expectation {
  rows?: ExpectedRow[];
  sum?: string;
  count?: number;
  rejected?: number;
  failed?: boolean;
  warned?: boolean;
  warning_has?: string;
  error_has?: string | string[];
  error_not?: string;
  assumed?: boolean;
  completeness?: string;
  surplus?: number;
  any?: Expectation[];
}

interface ExpectedRow {
  date?: string;
  dc?: string;
  amount?: string;
  balance?: string;
  code?: string;
  description_has?: string[];
  name_has?: string[];
  text_has?: string[];
  opponent_iban?: string;
  opponent_id?: string;
  opponent_id_not?: string;
  end_to_end_id?: string;
  mandate_reference?: string;
}

interface Case {
  /** Where its files are. */
  folder: string;
  no: number;
  name: string;
  kind: number;
  files: string[];
  account: { currency: string; number?: string; iban?: string } | null;
  params: Record<string, string>;
  expect: Expectation;
}

const CASES: Case[] = FOLDERS.flatMap((folder) =>
  (JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8')) as Case[]).map((it) => ({ ...it, folder })),
);
const profiles = FOLDERS.map((folder) => join(folder, 'profiles')).find(existsSync);

const service = useOwnService({
  because: 'it has profiles',
  roles: ['api', 'importer'],
  config: profiles === undefined ? {} : { profilesDir: profiles },
});

// biome-ignore lint/suspicious/noExplicitAny: what the API answers is compared, and not used.
type Found = any;

/** What is found after all files of a case were sent. */
interface Outcome {
  rows: Found[];
  imports: Found[];
  accounts: Found[];
}

/** Sends the files of a case one after the other. @returns their imports; a refused file is one that failed. */
async function sendFiles(
  key: string,
  { folder, files, params }: Case,
  accountId: string | null,
): Promise<Found[]> {
  const query = new URLSearchParams(params);
  if (accountId !== null) query.set('account_id', accountId);
  const imports: Found[] = [];
  for (const file of files) {
    const body = readFileSync(join(folder, 'files', file));
    const sent = await service.call('POST', `/v1/imports?${query}`, {
      key,
      body,
      type: 'application/octet-stream',
    });
    if (sent.status !== 202) {
      imports.push({ status: 'failed', errors: [sent.body], warnings: [], rejected: 0, inserted: 0 });
      continue;
    }
    const ended = await until(`import of ${file} has ended`, async () => {
      const { body } = await service.call('GET', `/v1/imports/${sent.body.import.id}`, { key });
      return ['done', 'failed'].includes(body.import.status) && body;
    });
    const { errors, warnings } = (
      await service.call('GET', `/v1/imports/${sent.body.import.id}/errors`, { key })
    ).body;
    imports.push({ ...ended.import, errors: [...errors, ended.import.error], warnings });
  }
  return imports;
}

async function runCase(it: Case): Promise<Outcome & { again: Found[] }> {
  const { api_key: key } = await service.customer();
  const account = it.account && (await createAccount(service, key, it.account));
  const imports = await sendFiles(key, it, account?.id ?? null);
  const get = async (path: string) => (await service.call('GET', path, { key })).body;
  const { transactions: rows } = await get('/v1/transactions?starts=1990-01-01&per_page=100&fields=extended');
  const { accounts } = await get('/v1/accounts');
  const books = await Promise.all(
    accounts.map(async ({ id }: Found) => (await get(`/v1/accounts/${id}/completeness`)).completeness),
  );
  return { rows, imports, accounts: books, again: await sendFiles(key, it, account?.id ?? null) };
}

const plain = (text: string) => text.replace(/\s/g, '').toLowerCase();
const hasAll = (parts: string[] = [], ...texts: unknown[]) =>
  parts.every((part) => plain(texts.join('\n')).includes(plain(part)));

/** A field that is left out is not compared. */
const isAs = <T>(expected: T | undefined, found: T) => expected === undefined || expected === found;
const isAmount = (expected: string | undefined, found: string) =>
  expected === undefined || Number(expected) === Number(found);

function matches(expected: ExpectedRow, row: Found): boolean {
  return (
    isAs(expected.date, row.date_issue) &&
    isAs(expected.dc, row.dc) &&
    isAmount(expected.amount, row.amount) &&
    isAmount(expected.balance, row.balance) &&
    isAs(expected.code, row.code) &&
    isAs(expected.opponent_iban, row.opponent_iban) &&
    isAs(expected.opponent_id, row.opponent_id.trim()) &&
    (expected.opponent_id_not === undefined || row.opponent_id.trim() !== expected.opponent_id_not) &&
    isAs(expected.end_to_end_id, row.extended.end_to_end_id) &&
    isAs(expected.mandate_reference, row.extended.mandate_reference) &&
    hasAll(expected.description_has, row.description) &&
    hasAll(expected.name_has, row.name) &&
    hasAll(expected.text_has, ...Object.values(row), ...Object.values(row.extended))
  );
}

/** @returns the first thing in which the outcome differs; null if all is as expected */
function difference(expected: Expectation, outcome: Outcome): string | null {
  const { rows, imports, accounts } = outcome;
  const errors = JSON.stringify(imports.flatMap((it) => it.errors));
  const warnings = JSON.stringify(imports.flatMap((it) => it.warnings));
  const total = (count: (it: Found) => number) => imports.reduce((sum, it) => sum + count(it), 0);
  const left = [...rows];
  const missing = (expected.rows ?? []).filter((row) => {
    const at = left.findIndex((it) => matches(row, it));
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
  const sum = rows.reduce((all, { dc, amount }) => all + (dc === 'Debit' ? -1 : 1) * Number(amount), 0);
  const failed = imports.some(({ status }) => status === 'failed');
  const faults: [unknown, string][] = [
    [missing.length > 0, `these rows are not stored: ${JSON.stringify(missing)}`],
    [expected.rows && left.length > 0, 'there are more rows'],
    [expected.count !== undefined && rows.length !== expected.count, `there are ${rows.length} rows`],
    [expected.sum !== undefined && Math.abs(sum - Number(expected.sum)) > 0.0005, `the sum is ${sum}`],
    [
      !isAs(
        expected.rejected,
        total(({ rejected }) => rejected),
      ),
      'other numbers of rows are rejected',
    ],
    [!isAs(expected.failed, failed), `failed is ${failed}`],
    [expected.warned && warnings === '[]', 'there is no warning'],
    [!warnings.toLowerCase().includes((expected.warning_has ?? '').toLowerCase()), 'the warning is another'],
    [![expected.error_has ?? []].flat().every((it) => errors.includes(it)), 'the errors are others'],
    [expected.error_not && errors.includes(expected.error_not), 'an error says what is not so'],
    [
      expected.assumed && total((it) => it.assumed_duplicates + it.assumed_new) === 0,
      'the doubt is not shown',
    ],
    [
      expected.completeness && !accounts.every(({ status }) => status === expected.completeness),
      'completeness is another',
    ],
    [
      !isAs(
        expected.surplus,
        accounts.flatMap(({ periods }) => periods.flatMap((it: Found) => it.surplus)).length,
      ),
      'movements are surplus',
    ],
  ];
  const fault = faults.find(([holds]) => holds);
  if (fault !== undefined) return fault[1];
  if (expected.any === undefined) return null;
  const differences = expected.any.map((one) => difference(one, outcome));
  return differences.includes(null) ? null : differences.join('; or ');
}

describe('a bank file after a public report', () => {
  it.concurrent.each(CASES)('$no, $name, gives what a bookkeeper wants', async (it) => {
    const outcome = await runCase(it);
    expect(difference(it.expect, outcome), JSON.stringify(outcome, null, 1)).toBeNull();
    expect(outcome.again.map(({ inserted }) => inserted)).toEqual(it.files.map(() => 0));
  });
});
