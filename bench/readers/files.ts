import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { BankFormat } from './reader.ts';

/** The files that are read: cases after bug reports, and public samples. They lie beside the repository. */

/** The folder with the public files, which are other people's. */
export const FILES = join(import.meta.dirname, '../../../shared');
const CASES = join(FILES, 'cases');
const SAMPLES = join(FILES, 'samples');

export interface ExpectedRow {
  date: string;
  dc: 'Credit' | 'Debit';
  amount: string;
}

export interface BankFile {
  name: string;
  bytes: Buffer;
  /** Everything that the file should give. null: not known. */
  rows: readonly ExpectedRow[] | null;
}

interface Case {
  files: string[];
  expect: { rows?: ExpectedRow[]; failed?: boolean; any?: { failed?: boolean }[] };
}

/** How the name of a file ends. */
const ENDINGS: Record<BankFormat, readonly string[]> = {
  mt940: ['.sta', '.txt'],
  camt: ['.xml'],
  ofx: ['.ofx', '.qfx'],
  bai2: ['.bai'],
  coda: ['.cod'],
  cfonb120: ['.cfo'],
  norma43: ['.n43'],
};
/** MT942, camt.052 and camt.054 are left out, because most of the packages do not claim them. */
const OTHERS: Partial<Record<BankFormat, RegExp>> = {
  mt940: /^:(?:34F|13D?):/m,
  camt: /BkToCstmr(?:AcctRpt|DbtCdtNtfctn)/,
};

/** @returns null if the files are absent. */
export function findFiles(format: BankFormat): BankFile[] | null {
  if (!existsSync(CASES) || !existsSync(SAMPLES)) return null;
  return [...findCases(), ...findSamples()].filter(
    ({ name, bytes }) =>
      ENDINGS[format].includes(extname(name).toLowerCase()) &&
      OTHERS[format]?.test(bytes.toString('latin1')) !== true,
  );
}

/** Rows are compared in cases of one file. Cases that should be refused are left out. */
function findCases(): BankFile[] {
  const cases = JSON.parse(readFileSync(join(CASES, 'cases.json'), 'utf8')) as Case[];
  return cases
    .filter(({ expect: { failed, any = [] } }) => failed !== true && !any.some((it) => it.failed === true))
    .flatMap(({ files, expect: { rows = null } }) =>
      files.map((name) => ({
        name,
        bytes: readFileSync(join(CASES, 'files', name)),
        rows: files.length === 1 ? rows : null,
      })),
    );
}

const findSamples = (): BankFile[] =>
  readdirSync(SAMPLES, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted()
    .map((path) => ({ name: path.slice(SAMPLES.length + 1), bytes: readFileSync(path), rows: null }));
