import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sql } from '../../src/database/transaction.ts';
import { type Figure, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { emptyTables } from '../movement-tables.ts';
import { makeDays } from '../statement-entries.ts';
import { renderDays } from '../statement-files.ts';
import { memoryOf, processorTimeOf } from '../usage.ts';

const ENTRIES = 4;
/** Time between two files. Milliseconds. */
const MINUTE = 60_000;

/**
 * A folder source with many small files: an account's day each, of all accounts in turn. Compares the last tenth of the files with the
 * first.
 */
export const manyFiles: Figure = {
  about: 'files/s of a folder source with 20,000 statement files, and the memory of the importer',
  rounds: 1,
  async prepare(scale: Scale, start) {
    const sourcesDir = await mkdtemp(join(tmpdir(), 'ledgerbell-bench-files-'));
    const installation = await start({ sourcesDir });
    const accounts = sized(scale, { smoke: 4, normal: 20 });
    const days = sized(scale, { smoke: 10, normal: 1_000 });
    return {
      server: installation.server,
      async round() {
        const measured = await collect(installation, sourcesDir, { accounts, days });
        await emptyTables(installation.runtime.database);
        return measured;
      },
      async end() {
        await installation.end();
        await rm(sourcesDir, { recursive: true });
      },
    };
  },
};

async function collect(
  installation: Installation,
  sourcesDir: string,
  { accounts, days }: { accounts: number; days: number },
) {
  const { call, customer, runtime } = installation;
  const { api_key: key, customer: owner } = await customer();
  await writeFiles(join(sourcesDir, owner.id, 'inbox'), accounts, days);
  const { source } = (await call(key, 'POST', '/v1/sources', {
    title: 'Files',
    kind: 'folder',
    settings: { path: 'inbox' },
    schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
    create_accounts: true,
  })) as { source: { id: number | string } };
  const stored = () => countStored(runtime.database, owner.id);
  const files = accounts * days;
  await call(key, 'POST', `/v1/sources/${source.id}/run`);

  await untilMany(stored, 1);
  const atStart = await look(installation, stored);
  await untilMany(stored, files * 0.1);
  const afterFirst = await look(installation, stored);
  await untilMany(stored, files * 0.9);
  const beforeLast = await look(installation, stored);
  await untilMany(stored, files);
  const atEnd = await look(installation, stored);

  const [{ movements } = { movements: 0 }] = await runtime.database.query<{ movements: number | string }[]>(
    'SELECT COUNT(*) AS movements FROM transactions WHERE customer_id = ?',
    [owner.id],
  );
  if (Number(movements) !== files * ENTRIES)
    throw new Error(`${movements} of ${files * ENTRIES} movements were stored`);
  const [first, last] = [compare(atStart, afterFirst), compare(beforeLast, atEnd)];
  const name = `a folder of ${files.toLocaleString('en')} files, the last tenth`;
  const baseline = (value: number) => ({ name: 'the first tenth', value });
  return [
    { name, unit: 'files/s', value: last.rate, baseline: baseline(first.rate), wanted: { atLeast: 0.9 } },
    {
      name: `${name}, processor time`,
      unit: 'ms of importer and MySQL per file',
      value: last.time,
      baseline: baseline(first.time),
      wanted: { atMost: 1.1 },
    },
    {
      name: `${name}, importer`,
      unit: 'MB resident at the end',
      value: atEnd.memory,
      baseline: baseline(afterFirst.memory),
      wanted: { atMost: 1.2 },
    },
  ];
}

/** Writes the files so that the source collects day after day. */
async function writeFiles(folder: string, accounts: number, days: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const oldest = Date.now() - (accounts * days + 1) * MINUTE;
  for (let account = 0; account < accounts; account += 1) {
    let day = 0;
    for (const it of makeDays(days * ENTRIES, ENTRIES)) {
      const path = join(folder, `${account}-${it.date}.sta`);
      const own = { iban: ibanOf(account), currency: 'TRY' };
      await writeFile(path, renderDays('mt940', [{ ...it, number: String(day + 1) }], own));
      const changed = new Date(oldest + (day * accounts + account) * MINUTE);
      await utimes(path, changed, changed);
      day += 1;
    }
  }
}

/** A Turkish IBAN with the right check digits. */
function ibanOf(account: number): string {
  const rest = `00062${String(account).padStart(17, '0')}`;
  // TR00 at the end, with its letters as numbers.
  const check = 98n - (BigInt(`${rest}292700`) % 97n);
  return `TR${String(check).padStart(2, '0')}${rest}`;
}

/** Index: imports_customer_status, which covers the query. */
async function countStored(sql: Sql, customerId: string): Promise<number> {
  const [row] = await sql.query<{ stored: number | string }[]>(
    "SELECT COUNT(*) AS stored FROM imports WHERE customer_id = ? AND status = 'done'",
    [customerId],
  );
  return Number(row?.stored);
}

async function untilMany(stored: () => Promise<number>, wanted: number): Promise<void> {
  while ((await stored()) < wanted) await pause(500);
}

interface Look {
  files: number;
  at: number;
  memory: number;
  time: number;
}

async function look({ pids }: Installation, stored: () => Promise<number>): Promise<Look> {
  const { importer = 0, mysql = 0 } = pids;
  return {
    files: await stored(),
    at: performance.now(),
    memory: (await memoryOf(importer)).now,
    time: (await processorTimeOf(importer)) + (await processorTimeOf(mysql)),
  };
}

/** Files per second, and processor time per file in milliseconds. */
function compare(from: Look, to: Look): { rate: number; time: number } {
  const files = to.files - from.files;
  return { rate: (files * 1_000) / (to.at - from.at), time: (to.time - from.time) / files };
}
