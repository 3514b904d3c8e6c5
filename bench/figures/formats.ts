import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import { requireEqual, untilDone } from '../load.ts';
import { emptyTables } from '../movement-tables.ts';
import { type Process, startProcess } from '../processes.ts';
import { ibanIn, renderFile, renderWorkbook, TEXT_FORMATS, type TextFormat } from '../statement-files.ts';
import type { ReadTask, ReadTime, Way } from '../statement-reader.ts';

/** Entries of a day, in the files that are read. */
const PER_DAY = 500;

/** Share of the rate at which the lines of the same file are split. */
const WANTED: Partial<Record<TextFormat, number>> = { mt940: 0.25, csv: 0.25 };
const WANTED_OF_SAXES = 0.5;
const WANTED_OF_NDJSON = 0.8;
/** Of a file whose movements are all stored already, against the first time. */
const WANTED_OF_FIRST = 0.5;

const BASELINES: Record<Exclude<Way, 'rows'>, string> = {
  readline: 'the lines of the same file, node:readline',
  saxes: 'saxes alone, on the same file',
};

/**
 * MB/s of reading statement files, from bytes to movements, each in a process of its own that also reads the baseline.
 * Then rows/s from the POST of a statement file until all of it is stored, against the same movements as NDJSON.
 */
export const formats: Figure = {
  about:
    'MB/s of reading statement files against splitting their lines; stored rows/s of them against NDJSON',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-bench-formats-'));
    const files = await writeFiles(folder, sized(scale, { smoke: 1_000, normal: 80_000 }));
    const rows = sized(scale, { smoke: 2_000, normal: 50_000 });
    return {
      server: installation.server,
      async round() {
        const measured: Measured[] = [];
        for (const file of files) measured.push(...(await readFile(file)));
        measured.push(...(await storeFiles(installation, rows)));
        await emptyTables(installation.runtime.database);
        return measured;
      },
      async end() {
        for (const { reader } of files) await reader.end();
        await rm(folder, { recursive: true });
        await installation.end();
      },
    };
  },
};

interface File {
  format: TextFormat | 'xlsx';
  path: string;
  megabytes: number;
  rows: number;
  reader: Process;
}

async function writeFiles(folder: string, rows: number): Promise<File[]> {
  const files: File[] = [];
  for (const format of [...TEXT_FORMATS, 'xlsx'] as const) {
    const path = join(folder, format);
    await writeFile(
      path,
      format === 'xlsx'
        ? renderWorkbook(rows, PER_DAY)
        : Readable.from(renderFile(format, { entries: rows, perDay: PER_DAY })),
    );
    const megabytes = (await stat(path)).size / 1e6;
    files.push({ format, path, megabytes, rows, reader: startProcess('./statement-reader.js') });
  }
  return files;
}

/** @throws when not every entry was read. */
async function readFile({ format, path, megabytes, rows, reader }: File): Promise<Measured[]> {
  const baselines = waysFor(format);
  const answer = reader.receive<ReadTime[]>();
  reader.send({ path, ways: ['rows', ...baselines] } satisfies ReadTask);
  const [own, ...others] = await answer;
  requireEqual({ expected: rows, [`rows of ${format}`]: own?.count ?? 0 });
  const seconds = own?.seconds ?? Number.NaN;
  const name = `reading ${format}`;
  const rate = { name, unit: 'MB/s', value: megabytes / seconds };
  const rowRate = { name, unit: 'rows/s', value: rows / seconds };
  return [
    ...(baselines.length === 0 ? [rowRate] : []),
    ...baselines.map((way, at) => ({
      ...rate,
      baseline: { name: BASELINES[way], value: megabytes / (others[at]?.seconds ?? Number.NaN) },
      ...wantedOf(format, way),
    })),
  ];
}

/** An XLSX file is packed, so it has no lines. */
function waysFor(format: File['format']): Exclude<Way, 'rows'>[] {
  if (format === 'xlsx') return [];
  return format === 'camt' ? ['readline', 'saxes'] : ['readline'];
}

function wantedOf(format: File['format'], way: Way): Pick<Measured, 'wanted'> {
  const atLeast =
    way === 'saxes' ? WANTED_OF_SAXES : way === 'readline' && format !== 'xlsx' ? WANTED[format] : undefined;
  return atLeast === undefined ? {} : { wanted: { atLeast } };
}

/** Stores files of each format, each right after the same movements as NDJSON. */
async function storeFiles(installation: Installation, rows: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  const store = async (format: TextFormat, perDay: number, name: string) => {
    const ndjson = await storeFile(installation, 'ndjson', rows, perDay);
    const file = await storeFile(installation, format, rows, perDay);
    measured.push({
      name,
      unit: 'rows/s',
      value: file.first,
      baseline: { name: 'the same movements as NDJSON', value: ndjson.first },
      wanted: { atLeast: WANTED_OF_NDJSON },
    });
    return file;
  };
  for (const format of TEXT_FORMATS) await store(format, PER_DAY, `stored ${format}`);
  const { first, again } = await store('mt940', rows, 'stored mt940, all of one day');
  measured.push({
    name: 'stored mt940, all of one day, known already',
    unit: 'rows/s',
    value: again,
    baseline: { name: 'the same file the first time', value: first },
    wanted: { atLeast: WANTED_OF_FIRST },
  });
  return measured;
}

/**
 * Imports a file twice, for a customer of its own.
 * @returns rows/s from the POST until all rows are stored, and until all are known the second time.
 * @throws when the counts are others.
 */
async function storeFile(
  installation: Installation,
  format: TextFormat | 'ndjson',
  rows: number,
  perDay: number,
): Promise<{ first: number; again: number }> {
  const { call, customer, runtime } = installation;
  const { api_key: key, accountId } = await customer();
  await runtime.database.query('UPDATE accounts SET iban = ? WHERE id = ?', [ibanIn(format), accountId]);
  const body = [...renderFile(format, { entries: rows, perDay, accountId })].join('');
  const type = format === 'ndjson' ? 'application/x-ndjson' : 'application/octet-stream';
  const send = async (inserted: number) => {
    const started = performance.now();
    const answer = await call(key, 'POST', '/v1/imports', body, type);
    await untilDone(installation, key, String((answer.import as { id: number }).id), inserted);
    return rows / ((performance.now() - started) / 1_000);
  };
  return { first: await send(rows), again: await send(0) };
}
