import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import cases from './cases.json' with { type: 'json' };

/**
 * Files after public bug reports, and what a bookkeeper wants to find when all of them have come. `source` says where the fault was reported.
 */

interface WantedRow {
  date?: string;
  dc?: string;
  amount?: string;
  text_has?: string[];
  name_has?: string[];
}

interface Expected {
  rows?: WantedRow[];
  count?: number;
  sum?: string;
  rejected?: number;
  failed?: boolean;
  warned?: boolean;
  assumed?: boolean;
  completeness?: string;
  surplus?: number;
}

interface Found {
  rows: Record<string, string | null>[];
  imports: Record<string, number | string>[];
  completeness: { status: string; periods: { surplus: unknown[] }[] }[];
  /** The rows when all files have come twice. */
  extended: { extended: { details?: unknown[] } }[];
}

interface Case {
  name: string;
  files: string[];
  params: Record<string, string | boolean>;
  /** The same holds whatever the order of the files. */
  isAnyOrder?: boolean;
  expect: Expected & { any?: Expected[] };
}

const CASES: Case[] = cases;

const service = useService({ roles: ['api', 'importer'] });

const plain = (text: string) => text.replace(/\s/g, '').toLowerCase();
const hasAll = (parts: readonly string[] | undefined, text: string) =>
  (parts ?? []).every((part) => plain(text).includes(plain(part)));

const isRow = (wanted: WantedRow, row: Found['rows'][number]): boolean =>
  (wanted.date === undefined || row.date_issue === wanted.date) &&
  (wanted.dc === undefined || row.dc === wanted.dc) &&
  (wanted.amount === undefined || Number(row.amount) === Number(wanted.amount)) &&
  hasAll(wanted.name_has, row.name ?? '') &&
  hasAll(wanted.text_has, JSON.stringify(row));

function areRows(wanted: readonly WantedRow[], rows: Found['rows']): boolean {
  const left = [...rows];
  for (const it of wanted) {
    const at = left.findIndex((row) => isRow(it, row));
    if (at < 0) return false;
    left.splice(at, 1);
  }
  return left.length === 0;
}

const total = (imports: Found['imports'], ...names: string[]) =>
  imports.reduce((sum, it) => sum + names.reduce((part, name) => part + Number(it[name]), 0), 0);

function holds(it: Expected, { rows, imports, completeness }: Found): boolean {
  const surplus = completeness.flatMap(({ periods }) => periods.flatMap((period) => period.surplus));
  const cents = rows.reduce(
    (sum, { dc, amount }) => sum + (dc === 'Credit' ? 1 : -1) * Math.round(Number(amount) * 100),
    0,
  );
  return (
    (it.rows === undefined || areRows(it.rows, rows)) &&
    (it.count === undefined || rows.length === it.count) &&
    (it.sum === undefined || cents === Math.round(Number(it.sum) * 100)) &&
    (it.rejected === undefined || total(imports, 'rejected') === it.rejected) &&
    (it.failed === undefined || imports.some(({ status }) => status === 'failed') === it.failed) &&
    (it.warned === undefined || total(imports, 'warnings') > 0 === it.warned) &&
    (it.assumed === undefined || total(imports, 'assumed_duplicates', 'assumed_new') > 0 === it.assumed) &&
    (it.completeness === undefined || completeness.every(({ status }) => status === it.completeness)) &&
    (it.surplus === undefined || surplus.length === it.surplus)
  );
}

/** Sends the files of a case, and then all of them again: nothing new may be stored. */
async function run({ files, params }: Pick<Case, 'files' | 'params'>): Promise<Found> {
  const { api_key: key } = await service.customer();
  const get = async (path: string) => (await service.call('GET', path, { key })).body;
  const query = Object.entries(params)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const send = async (file: string) => {
    const { status, body } = await service.call('POST', `/v1/imports?${query}`, {
      key,
      body: readFileSync(new URL(`files/${file}`, import.meta.url)),
      type: 'application/octet-stream',
    });
    expect(status).toBe(202);
    return until('the import has ended', async () => {
      const { import: found } = await get(`/v1/imports/${body.import.id}`);
      return ['done', 'failed'].includes(found.status) && found;
    });
  };
  const imports: Found['imports'] = [];
  for (const file of files) imports.push(await send(file));
  const { transactions: rows } = await get('/v1/transactions?starts=2020-01-01');
  const { accounts } = await get('/v1/accounts');
  const completeness: Found['completeness'] = [];
  for (const { id } of accounts)
    completeness.push((await get(`/v1/accounts/${id}/completeness`)).completeness);
  for (const file of files) expect(await send(file)).toMatchObject({ inserted: 0 });
  const { transactions: extended } = await get('/v1/transactions?starts=2020-01-01&fields=extended');
  return { rows, imports, completeness, extended };
}

function check(found: Found, { any = [{}], ...others }: Case['expect']): void {
  const wanted = any.map((it) => ({ ...others, ...it }));
  if (!wanted.some((it) => holds(it, found))) expect(found).toEqual({ any: wanted });
}

test.each(CASES.map((it) => [it.name, it] as const))('%s', async (_, it) => {
  check(await run(it), it.expect);
});

test.each(CASES.filter(({ isAnyOrder }) => isAnyOrder).map((it) => [it.name, it] as const))(
  '%s, the files in the other order',
  async (_, it) => {
    check(await run({ ...it, files: it.files.toReversed() }), it.expect);
  },
);

test('details that come after their batch are listed with it, once', async () => {
  const { extended } = await run(CASES.find(({ name }) => name === 'same-053-later-with-details') as Case);
  const detail = { dc: 'Credit', opponent_iban: null, end_to_end_id: null, creditor_reference: null };
  expect(extended.map((it) => it.extended.details)).toEqual([
    [
      { ...detail, amount: '30.00', name: 'Anna', description: 'R1 Sammler' },
      { ...detail, amount: '70.00', name: 'Beat', description: 'R2 Sammler' },
    ],
  ]);
});
