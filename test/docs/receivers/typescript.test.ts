import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

/** The programs of the documentation as TypeScript, with `strict` and the types of the packages that they name. Needs the registry of npm. */

const ROOT = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

const PAGES = [
  'docs/receiving/javascript.md',
  'docs/receiving/pull.md',
  'docs/embedding.md',
  'packages/sdk/README.md',
  'packages/statements/README.md',
  'packages/reconcile/README.md',
];

/** The packages of this repository. Other tests pack them. */
const PATHS = {
  '@ledgerbell/sdk': [join(ROOT, 'packages/sdk/src/index.ts')],
  '@ledgerbell/sdk/receiver': [join(ROOT, 'packages/sdk/src/receiver/index.ts')],
  '@ledgerbell/statements': [join(ROOT, 'packages/statements/src/index.ts')],
  '@ledgerbell/reconcile': [join(ROOT, 'packages/reconcile/src/index.ts')],
};

/** What the programs are written for, with its types, as npm has it today. */
const PACKAGES = [
  'express',
  '@types/express',
  'fastify',
  'hono',
  '@hono/node-server',
  'next',
  'mysql2',
  '@types/node',
];

/** A route handler is what Next.js calls with a request of its own. */
const AS_NEXT_CALLS_IT = `
import type { NextRequest } from 'next/server.js';
import { POST } from './app/webhooks/route.js';
export const handler: (request: NextRequest) => Promise<Response> = POST;
`;

let project: string;

/** A program is TypeScript when its name ends so. Others still import it as JavaScript. */
const asTypeScript = (name: string) => name.replace(/js$/, 'ts');

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'ledgerbell-typescript-'));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const quiet = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...quiet, ...PACKAGES], { cwd: project });
  return () => rm(project, { recursive: true });
}, 600_000);

it.each(PAGES)('the programs of %s compile with strict', async (page) => {
  const folder = join(project, page.replaceAll(/\W/g, '-'));
  const text = await readFile(join(ROOT, page), 'utf8');
  const programs = [...text.matchAll(/^```[jt]s (\S+)\n(.*?)^```/gms)];
  expect(programs.length).toBeGreaterThan(0);
  for (const [, name = '', program = ''] of programs) {
    const path = join(folder, asTypeScript(name));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, program);
  }
  if (text.includes('route.js')) await writeFile(join(folder, 'next.mts'), AS_NEXT_CALLS_IT);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: 'ES2023', module: 'NodeNext', skipLibCheck: true },
    ...{ types: ['node'], lib: ['ES2024', 'DOM'], allowImportingTsExtensions: true, paths: PATHS },
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const said = await run(process.execPath, [tsc, '-p', folder], { cwd: folder }).catch((error) => error);
  expect(said.stdout).toBe('');
});
