import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { zipSync } from 'fflate';
import { afterAll, expect, it } from 'vitest';
import { renderWorkbook } from '../../bench/statement-files.ts';
import type * as Statements from '../../packages/statements/src/index.ts';
import { readStatements, type Statement } from '../../packages/statements/src/index.ts';
import { useBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const browser = useBrowser();

/** The package as a bundler makes it for a page: nothing of Node.js is left. */
const { outputFiles } = await build({
  entryPoints: [join(ROOT, 'packages/statements/src/index.ts')],
  bundle: true,
  platform: 'browser',
  format: 'iife',
  globalName: 'statements',
  write: false,
});
const server = createServer(({ url }, response) => {
  const isScript = url === '/statements.js';
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(
    isScript
      ? outputFiles[0]?.contents
      : '<!doctype html><title>statements</title><link rel=icon href=data:,><script src=/statements.js></script>',
  );
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());

const sample = (path: string) => readFileSync(join(ROOT, 'test/samples', path));
const FILES = {
  'statement.xml': sample('camt/statement.xml'),
  'dirty.sta': sample('mt940/dirty.sta'),
  'checking.ofx': sample('ofx/checking.ofx'),
  'two-accounts.bai': sample('bai2/two-accounts.bai'),
  'ing-nl.csv': sample('csv/ing-nl.csv'),
  'ziraat.csv.gz': gzipSync(sample('csv/ziraat.csv')),
  'both.zip': Buffer.from(
    zipSync({ 'a.sta': sample('mt940/structured.sta'), 'b.xml': sample('camt/report.xml') }),
  ),
  'book.xlsx': Buffer.from(renderWorkbook(200, 20)),
};

it('Chromium reads the same from a chosen file as Node.js', async () => {
  const { page, faults } = await browser.visit(origin);
  for (const [name, bytes] of Object.entries(FILES)) {
    const expected: Statement[] = [];
    for await (const statement of readStatements(bytes)) expected.push(statement);
    expect(expected.length, name).toBeGreaterThan(0);
    const read = await page.evaluate(async (base64) => {
      const library = (globalThis as unknown as { statements: typeof Statements }).statements;
      const file = new File([Uint8Array.from(atob(base64), (it) => it.charCodeAt(0))], 'file');
      const statements: unknown[] = [];
      for await (const statement of library.readStatements(file)) statements.push(statement);
      return statements;
    }, bytes.toString('base64'));
    expect(read, name).toEqual(expected);
  }
  expect(faults).toEqual([]);
});

it('Chromium refuses a gzip and a workbook that are cut off', async () => {
  const { page } = await browser.visit(origin);
  for (const [bytes, message] of [
    [FILES['ziraat.csv.gz'].subarray(0, -20), 'The file is gzip, and is broken or cut off.'],
    [FILES['book.xlsx'].subarray(0, -100), 'the file is a broken or cut off zip'],
  ] as const) {
    const error = await page.evaluate(async (base64) => {
      const library = (globalThis as unknown as { statements: typeof Statements }).statements;
      const source = Uint8Array.from(atob(base64), (it) => it.charCodeAt(0));
      try {
        for await (const _ of library.readStatements(source));
        return null;
      } catch (error) {
        return error instanceof library.UnreadableFileError ? error.message : String(error);
      }
    }, bytes.toString('base64'));
    expect(error).toContain(message);
  }
});
