import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { installOnce } from '../servers/cache.ts';
import { installNode } from '../servers/node.ts';
import { INSTALL_TIMEOUT } from '../support/installed-program.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const run = promisify(execFile);
const COMMITTED = join(import.meta.dirname, '../../packages/sdk/src/generated');

/** openapi-ts, with the last TypeScript that has an API in JavaScript. It needs a newer Node than 20. */
const OPENAPI_TS = ['@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3'];

// biome-ignore lint/suspicious/noExplicitAny: a document of any form.
type Document = any;

/** The paths of the operators' document that the customers' document does not have. */
function onlyOfOperators(operators: Document, customers: Document): Document {
  const paths = Object.entries(operators.paths).filter(([path]) => !(path in customers.paths));
  return { ...operators, paths: Object.fromEntries(paths) };
}

/** Generates the client from the customers' document, and in `operators` the types of what only operators may call. */
async function generate(folder: string): Promise<string> {
  const bin = await installNode('24', { announce: console.error, signal: new AbortController().signal });
  const tools = await installOnce('openapi-ts-0.99.0', async (unfinished) => {
    console.error('Installing openapi-ts 0.99.0 with npm …');
    await run('npm', ['install', '--no-save', '--prefix', unfinished, ...OPENAPI_TS]);
  });
  const output = join(folder, 'generated');
  const outputAt = (path: string) => ({
    path,
    module: { extension: '.ts' },
    // It is not written for exactOptionalPropertyTypes.
    header: ['// @ts-nocheck', '// Made by openapi-ts: npm run sdk'],
  });
  const customers = {
    input: join(folder, 'openapi.json'),
    output: outputAt(output),
    plugins: [
      { name: '@hey-api/client-fetch', throwOnError: true },
      '@hey-api/typescript',
      { name: '@hey-api/sdk', operations: { strategy: 'single', containerName: 'Api' } },
    ],
  };
  const operators = {
    input: join(folder, 'operators.json'),
    output: outputAt(join(output, 'operators')),
    parser: { filters: { orphans: false } },
    plugins: ['@hey-api/typescript'],
  };
  const { body: document } = await service.call('GET', '/openapi.json');
  const { body: ofOperators } = await service.callOps('GET', '/openapi.json');
  await writeFile(customers.input, JSON.stringify(document));
  await writeFile(operators.input, JSON.stringify(onlyOfOperators(ofOperators, document)));
  const program = join(tools, 'node_modules/@hey-api/openapi-ts/bin/run.js');
  // One after the other: the first empties the folder that the second writes into.
  for (const config of [customers, operators]) {
    await writeFile(join(folder, 'config.mjs'), `export default ${JSON.stringify(config)}`);
    await run(join(bin, 'node'), [program, '-f', join(folder, 'config.mjs')], { cwd: folder });
  }
  return output;
}

async function readAll(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name.endsWith('.ts')).toSorted();
  return Object.fromEntries(
    await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
  );
}

it(
  'the client of the TypeScript package is what openapi-ts generates from the OpenAPI document (update it with: npm run sdk)',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-sdk-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const output = await generate(folder);
    if (process.env.SDK === 'true') {
      await rm(COMMITTED, { recursive: true, force: true });
      await cp(output, COMMITTED, { recursive: true });
    }
    expect(await readAll(COMMITTED)).toEqual(await readAll(output));
  },
  INSTALL_TIMEOUT,
);
