import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadProfiles } from '../../src/imports/load-profiles.ts';
import { readStatementFile } from '../../src/imports/read-file.ts';
import { createStatementFormats } from '../../src/statements/formats.ts';
import { START_BYTES } from '../../src/statements/read-files.ts';
import type { StatementEvent } from '../../src/statements/statement.ts';
import { UnreadableFileError } from '../../src/statements/unreadable.ts';
import { formatAmount } from '../../src/statements/values.ts';
import { balanceDifferences } from './statement-events.ts';

/** Public statement files, where they are at hand. They are read as an import reads them, with an account for each statement. */
const SAMPLES = new URL('../../../shared/samples/', import.meta.url).pathname;
const FOLDERS = {
  'MT940 and MT942': ['mt940'],
  CAMT: ['camt-genkgo', 'camt-goldmaster'],
  OFX: ['ofx'],
  CSV: ['csv'],
} as const;

const formats = createStatementFormats(loadProfiles(undefined));

const isStatement = (path: string) => !/(LICENSE|README[^/]*|\.json|\.conf)$/.test(path);

const filesIn = (folder: string): string[] =>
  readdirSync(join(SAMPLES, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

async function* bytesOf(path: string) {
  yield readFileSync(path);
}

async function read(path: string) {
  const counts = { files: 1, statements: 0, rows: 0, rejected: 0, warnings: 0, refused: 0 };
  const differences: string[] = [];
  try {
    const options = {
      formats,
      format: 'auto',
      profile: null,
      findAccount: async ({ currency }: { currency: string | null }) => ({
        id: '1',
        currency: currency ?? 'EUR',
      }),
    } as const;
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

/** For each statement of a file that has both balances: closing − opening − credits + debits. It is summed up here once more. */
async function sumUp(path: string): Promise<string[]> {
  const start = readFileSync(path).subarray(0, START_BYTES);
  const format = formats.detect(start);
  if (format === null) return [];
  const differences: string[] = [];
  try {
    const events: StatementEvent[] = [];
    for await (const some of formats.parse({ start, bytes: bytesOf(path) }, format, null))
      events.push(...some);
    differences.push(...balanceDifferences(events).map((difference) => formatAmount(-difference)));
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
  }
  return differences;
}

const page = () => readFileSync(new URL('../../docs/formats.md', import.meta.url), 'utf8').split('\n');

it.runIf(existsSync(SAMPLES))('the public files are read as docs/formats.md says', async () => {
  const table: Record<string, Awaited<ReturnType<typeof read>>['counts']> = {};
  for (const [name, folders] of Object.entries(FOLDERS)) {
    const total = { files: 0, statements: 0, rows: 0, rejected: 0, warnings: 0, refused: 0 };
    for (const path of folders.flatMap(filesIn).filter(isStatement)) {
      const { counts } = await read(path);
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += counts[key];
    }
    table[name] = total;
  }
  const lines = Object.entries(table).map(
    ([name, { files, statements, rows, rejected, warnings, refused }]) =>
      `| ${[name, files, statements, rows, rejected, warnings, refused].join(' | ')} |`,
  );
  expect(page()).toEqual(expect.arrayContaining(lines));
});

it.runIf(existsSync(SAMPLES))(
  'each public statement adds up, or its import warns of the difference, as docs/formats.md says',
  async () => {
    const lines: string[] = [];
    for (const [name, folders] of Object.entries(FOLDERS)) {
      const counts = { 'with both': 0, 'that add up': 0, 'with a warning': 0 };
      for (const path of folders.flatMap(filesIn).filter(isStatement)) {
        const sums = await sumUp(path);
        const different = sums.filter((difference) => difference !== '0.00');
        expect((await read(path)).differences, path).toEqual(different);
        counts['with both'] += sums.length;
        counts['that add up'] += sums.length - different.length;
        counts['with a warning'] += different.length;
      }
      lines.push(`| ${[name, ...Object.values(counts)].join(' | ')} |`);
    }
    expect(page()).toEqual(expect.arrayContaining(lines));
  },
);
