import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { checkReader } from './check.ts';
import { FILES, findFiles } from './files.ts';
import { installPackages } from './packages.ts';
import { BANK_FORMATS, type BankFormat } from './reader.ts';
import { PACKAGES, readersOf } from './readers.ts';
import { measureSpeeds } from './speed.ts';
import { type Line, labelOf, renderTable, replaceTables } from './table.ts';

/** Compares the package of bank statements with those of npm, and writes the tables of its README (`npm run bench:readers`). */

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'packages/statements/README.md');

async function compare(format: BankFormat, folder: string): Promise<Line[] | null> {
  const files = findFiles(format);
  if (files === null) return null;
  const readers = readersOf(format);
  const speeds = await measureSpeeds(format, readers, folder);
  const lines: Line[] = [];
  for (const [index, reader] of readers.entries()) {
    const checked = await checkReader(await reader.open(folder), files);
    lines.push({ reader, checked, speed: speeds[index] ?? { none: 'not measured' } });
    console.log(`${format}, ${labelOf(reader)}`);
    for (const it of checked.silent) console.log(`  silent: ${it}`);
    for (const it of checked.loud) console.log(`  ${it}`);
  }
  return lines;
}

async function main(): Promise<void> {
  if (findFiles('mt940') === null) {
    console.log(`Skipped: the files to read are not in ${FILES}.`);
    return;
  }
  const folder = await installPackages(PACKAGES);
  const [cpu] = cpus();
  const tables = [
    `${new Date().toISOString().slice(0, 10)}: ${cpus().length} × ${cpu?.model.trim()}, Node ${process.versions.node}.`,
  ];
  for (const format of BANK_FORMATS) {
    const lines = await compare(format, folder);
    if (lines !== null) tables.push(renderTable(format, lines));
  }
  const text = tables.join('\n\n');
  await writeFile(PAGE, replaceTables(await readFile(PAGE, 'utf8'), text));
  console.log(text);
}

await main();
