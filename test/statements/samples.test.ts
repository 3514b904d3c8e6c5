import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import { detectProfile } from '../../packages/statements/src/csv/parse.ts';
import { createStatementFormats, type StatementFormat } from '../../packages/statements/src/formats.ts';
import { START_BYTES } from '../../packages/statements/src/read-files.ts';
import { decodeStart } from '../../packages/statements/src/shared/decode.ts';
import type { StatementEvent } from '../../packages/statements/src/statement.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { readStatementFile } from '../../src/intake/importer/read-file.ts';
import { loadProfiles } from '../../src/intake/load-profiles.ts';
import { balanceDifferences, countOf, writeOut } from './statement-events.ts';

const OWN = new URL('../samples/', import.meta.url).pathname;
/** Public statement files, if they are present. */
const PUBLIC = new URL('../../../shared/samples/', import.meta.url).pathname;

const PROFILES = loadProfiles(undefined);
const formats = createStatementFormats(PROFILES, READ_SETTINGS);

const isStatement = (name: string) => !/(LICENSE|README[^/]*|\.json|\.conf)$/.test(name);

/** The statement files in a folder and in the folders within it. */
const namesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isStatement(entry.name))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort();

async function* bytesOf(path: string) {
  const bytes = readFileSync(path);
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

const startOf = (path: string) => readFileSync(path).subarray(0, START_BYTES);

/** Reads a file of a format. Without one, the start of the file decides. */
async function read(path: string, format = formats.detect(startOf(path))): Promise<StatementEvent[]> {
  const events: StatementEvent[] = [];
  if (format === null) return [];
  for await (const some of formats.parse({ start: startOf(path), bytes: bytesOf(path) }, format, null))
    events.push(...some);
  return events;
}

const profileOf = (path: string) => detectProfile(decodeStart(startOf(path)), PROFILES)?.name ?? null;

/** By file, the events that are written out in events.txt. */
const OWN_EVENTS = readFileSync(join(OWN, 'events.txt'), 'utf8')
  .trim()
  .split('\n\n')
  .slice(1)
  .map((block) => block.split('\n'))
  .map(([name = '', ...events]) => ({ name, events }));

describe("the project's own samples", () => {
  it.each(OWN_EVENTS)(
    'include $name, which gives the events of events.txt',
    async ({ name, events: expected }) => {
      const path = join(OWN, name);
      const [folder, file] = name.split('/');
      const events = await read(path);
      expect(events.map(writeOut)).toEqual(expected);
      expect(balanceDifferences(events).filter((difference) => difference !== 0n)).toEqual([]);
      expect(formats.detect(startOf(path))).toBe(name.endsWith('.942') ? 'mt942' : folder);
      if (folder === 'csv') expect(`${profileOf(path)}.csv`).toBe(file);
    },
  );

  it('all have their expected events in events.txt', () => {
    const names = namesIn(OWN).filter((name) => name.includes('/'));
    expect(OWN_EVENTS.map(({ name }) => name).toSorted()).toEqual(names);
  });
});

/** The folder of a format, with the name of that format in docs/formats.md. */
const FOLDERS: Record<string, { format: StatementFormat; title: string }> = {
  mt940: { format: 'mt940', title: 'MT940 and MT942' },
  'camt-genkgo': { format: 'camt', title: 'CAMT' },
  'camt-goldmaster': { format: 'camt', title: 'CAMT' },
  ofx: { format: 'ofx', title: 'OFX' },
  csv: { format: 'csv', title: 'CSV' },
};

/** By file, the figures that are in public.txt. */
const PUBLIC_FIGURES = readFileSync(join(OWN, 'public.txt'), 'utf8')
  .split('\n')
  .map((line) => line.replace(/ *#.*/, '').split(' '))
  .filter(([name]) => name !== '')
  .map(([name = '', ...figures]) => ({ name, figures }));

describe.each(Object.entries(FOLDERS))('the public samples in %s', (folder, { format }) => {
  const isAbsent = !existsSync(join(PUBLIC, folder));
  const files = PUBLIC_FIGURES.filter(({ name }) => name.startsWith(`${folder}/`));

  it.skipIf(isAbsent).each(files)(
    'include $name, which has the figures of public.txt',
    async ({ name, figures }) => {
      const path = join(PUBLIC, name);
      const events = await read(path, format);
      const found = formats.detect(startOf(path));
      const recognised = (found === 'csv' ? profileOf(path) : found) ?? 'unrecognised';
      const differences = balanceDifferences(events);
      expect([
        ...(recognised === format ? [] : [recognised]),
        ...(['statement', 'entry', 'issue', 'warning'] as const).map((type) => `${countOf(events, type)}`),
        `${differences.length}`,
        ...differences
          .filter((difference) => difference !== 0n)
          .map((difference) => formatAmount(difference, null)),
      ]).toEqual(figures);
    },
  );

  it.skipIf(isAbsent)('are all listed in public.txt', () => {
    const names = namesIn(join(PUBLIC, folder)).map((name) => `${folder}/${name}`);
    expect(files.map(({ name }) => name).toSorted()).toEqual(names);
  });
});

/** Reads a file as an import reads it, with an account for each statement. */
async function readAsImport(path: string) {
  const counts = { files: 1, statements: 0, rows: 0, rejected: 0, warnings: 0, refused: 0 };
  const differences: string[] = [];
  const findAccount = async ({ currency }: { currency: string | null }) => ({
    id: '1',
    currency: currency ?? 'EUR',
  });
  try {
    const options = { reader: formats, owner: '1', format: 'auto', profile: null, findAccount } as const;
    for await (const rows of readStatementFile(bytesOf(path), options)) {
      for (const row of rows) {
        if ('begun' in row) counts.statements += 1;
        else if ('warning' in row) {
          counts.warnings += 1;
          differences.push(...(/a difference of (-?[\d.]+)\./.exec(row.warning)?.slice(1) ?? []));
        } else if ('issue' in row) counts.rejected += 1;
        else if ('movement' in row) counts.rows += 1;
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    counts.refused = 1;
  }
  return { counts, differences };
}

/** For each statement of a file that has both balances: closing − opening − credits + debits. The test computes it independently of the importer. */
async function sumUp(path: string): Promise<string[]> {
  try {
    return balanceDifferences(await read(path)).map((difference) => formatAmount(-difference, null));
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    return [];
  }
}

it.runIf(existsSync(PUBLIC))(
  'the public files have the counts of docs/formats.md, and their imports warn of each statement that does not add up',
  async () => {
    const rows = new Map<string, Awaited<ReturnType<typeof readAsImport>>['counts']>();
    const sums = new Map<string, { both: number; equal: number; different: number }>();
    for (const [folder, { title }] of Object.entries(FOLDERS)) {
      const row = rows.get(title) ?? {
        files: 0,
        statements: 0,
        rows: 0,
        rejected: 0,
        warnings: 0,
        refused: 0,
      };
      const sum = sums.get(title) ?? { both: 0, equal: 0, different: 0 };
      for (const name of namesIn(join(PUBLIC, folder))) {
        const path = join(PUBLIC, folder, name);
        const { counts, differences } = await readAsImport(path);
        for (const key of Object.keys(row) as (keyof typeof row)[]) row[key] += counts[key];
        const all = await sumUp(path);
        const different = all.filter((difference) => difference !== '0.00');
        expect(differences, path).toEqual(different);
        sum.both += all.length;
        sum.equal += all.length - different.length;
        sum.different += different.length;
      }
      rows.set(title, row);
      sums.set(title, sum);
    }
    const page = readFileSync(new URL('../../docs/formats.md', import.meta.url), 'utf8').split('\n');
    const lines = [...rows, ...sums].map(
      ([title, counts]) => `| ${[title, ...Object.values(counts)].join(' | ')} |`,
    );
    expect(page).toEqual(expect.arrayContaining(lines));
  },
);
