import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { type BenchDay, makeDays } from '../../bench/statement-entries.ts';
import { renderDays } from '../../bench/statement-files.ts';
import { installNode } from '../servers/node.ts';
import { brokenLinksOf } from '../support/packed-links.ts';
import { useService } from '../support/service.ts';

/** The libraries as users get them: packed, installed into an empty project, used as their READMEs say. Needs the registry of npm. */

const ROOT = join(import.meta.dirname, '../..');
const LIBRARIES = ['statements', 'reconcile'] as const;
const run = promisify(execFile);

const service = useService({ roles: ['api'] });
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'ledgerbell-libraries-'));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const files: string[] = [];
  for (const name of LIBRARIES) {
    const cwd = join(ROOT, 'packages', name);
    const env = { ...process.env, DOCS_URL: `${service.url}/docs` };
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd, env });
    files.push(JSON.parse(stdout.slice(stdout.indexOf('[')))[0].filename);
    const readme = await readFile(join(cwd, 'README.md'), 'utf8');
    for (const [, program = '', text = ''] of readme.matchAll(/```js (\S+)\n(.*?)```/gs))
      await writeFile(join(project, program), text);
  }
  await run('npm', ['install', ...files.map((file) => `./${file}`)], { cwd: project });
  const account = { iban: 'TR320010009999901234567890', currency: 'TRY' };
  const days = [...makeDays(165, 5)];
  // A month as one statement, and a statement that begins within the month.
  const statementOf = (own: readonly BenchDay[]): BenchDay => {
    const [{ opening }, { date }] = [own[0] as BenchDay, own.at(-1) as BenchDay];
    return { date, opening, entries: own.flatMap(({ entries }) => entries) };
  };
  const [month, later] = [statementOf(days.slice(0, 31)), statementOf(days.slice(15))];
  await writeFile(join(project, 'january.sta'), renderDays('mt940', [month], account));
  await writeFile(join(project, 'later.xml'), renderDays('camt', [later], account));
  return () => rm(project, { recursive: true });
}, 300_000);

describe.each(['20', '24'])('with Node.js %s', (major) => {
  let program = process.execPath;
  beforeAll(async () => {
    if (process.versions.node.startsWith(`${major}.`)) return;
    const { signal } = new AbortController();
    program = join(await installNode(major, { announce: console.error, signal }), 'node');
  }, 300_000);
  const start = async (...args: string[]) =>
    (await run(program, args, { cwd: project })).stdout.trim().split('\n');

  it('the programs of the READMEs run', async () => {
    const november = join(ROOT, 'examples/bank-files/november.sta');
    const [account, entry] = await start('read.mjs', november);
    expect(account).toMatch(/^TR\d{24} TRY [\d.]+ → [\d.]+ difference 0\.00$/);
    expect(entry).toMatch(/^2025-11-\d\d +-?\d+\.\d\d .+$/);
    expect(await start('profile.mjs')).toEqual(['4711 2026-02-03 -4.20 95.80']);
    expect(await start('errors.mjs', november)).toEqual([expect.stringMatching(/^\d+ statements$/)]);
    expect(await start('errors.mjs', join(ROOT, 'package.json'))).toEqual([
      expect.stringMatching(/^The file is JSON: statement files are CAMT, MT940/),
    ]);
    const lines = await start('overlap.mjs');
    expect(lines[0]).toBe('common: 80 entries are in both');
    const known = Array.from({ length: 80 }, (_, at) => `mine-${75 + at}`);
    const fresh = Array.from({ length: 10 }, () => 'new');
    expect(lines.slice(1, 91).map((line) => line.split(' ').slice(2).join(' ').trim())).toEqual([
      ...known,
      ...fresh,
    ]);
    expect(lines.slice(91)).toEqual([
      'complete 2010-01-01 2010-01-31 0.00',
      'complete 2010-01-31 2010-02-02 0.00',
      'complete',
    ]);
  });
});

it('have types that compile with strict', async () => {
  const program = `import { createReadStream } from 'node:fs';
import { findKnownEntries, findStatementPeriods, relateStatements } from '@ledgerbell/reconcile';
import { listFormats, readStatements, type Statement } from '@ledgerbell/statements';

const statements: Statement[] = [];
for await (const statement of readStatements(createReadStream('january.sta'), { format: 'auto' })) statements.push(statement);
const [one, other] = statements;
if (one !== undefined && other !== undefined) console.log(relateStatements(one, other).kind);
const stored = statements.map((it) => ({ ...it, entries: it.entries.map((entry) => ({ ...entry, id: '1' })) }));
for (const decision of findKnownEntries(stored, statements).decisions.flat())
  if (decision.outcome === 'known' && decision.isStored) console.log(decision.entry.id);
console.log(findStatementPeriods(statements).periods[0]?.statements[0]?.account.iban, listFormats()[0]?.title);
`;
  await writeFile(join(project, 'use.ts'), program);
  const types = join(ROOT, 'node_modules/@types');
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2023,dom', '--types', 'node'];
  const how = ['--module', 'nodenext', '--typeRoots', types];
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const output = await run(tsc, [...options, ...how, 'use.ts'], { cwd: project }).catch(
    ({ stdout }) => stdout,
  );
  expect(output.stdout ?? output).toBe('');
});

it('contain compiled code, and depend on four packages', async () => {
  const names = await readdir(join(project, 'node_modules'));
  expect(names.filter((name) => !name.startsWith('.')).toSorted()).toEqual([
    '@ledgerbell',
    // Those of htmlparser2.
    'dom-serializer',
    'domelementtype',
    'domhandler',
    'domutils',
    'entities',
    'fflate',
    'htmlparser2',
    'saxes',
    'valibot',
    'xmlchars',
  ]);
  for (const name of LIBRARIES) {
    const files = await readdir(join(project, 'node_modules/@ledgerbell', name), { recursive: true });
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
  }
});

it.each(LIBRARIES)(
  '%s has documents whose links lead to its own files or to pages of /docs',
  async (name) => {
    const folder = join(project, 'node_modules/@ledgerbell', name);
    expect(await brokenLinksOf(folder, `${service.url}/docs`)).toEqual([]);
  },
);

it('leaves the documents of the repository as they were', async () => {
  for (const name of LIBRARIES)
    expect(await readFile(join(ROOT, 'packages', name, 'README.md'), 'utf8')).not.toContain(service.url);
});
