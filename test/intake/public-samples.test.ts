import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { loadProfiles } from '../../src/intake/load-profiles.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

/** Imports public statement files (if they are present) and sends them again: unchanged, in another encoding, in parts, and cut off. */

const SAMPLES = new URL('../../../shared/samples/', import.meta.url).pathname;
const isPresent = existsSync(SAMPLES);

const service = useService({ roles: ['api'] });
const formats = createStatementFormats(loadProfiles(undefined), READ_SETTINGS);

const files = isPresent
  ? readdirSync(SAMPLES, { recursive: true, withFileTypes: true })
      .filter((it) => it.isFile() && !/(LICENSE|README[^/]*|\.json|\.conf)$/.test(it.name))
      .map(({ parentPath, name }) => join(parentPath, name))
  : [];

/** The same text in other bytes. */
function* reencode(text: string): Generator<[name: string, bytes: Buffer]> {
  yield [
    'with other line ends',
    Buffer.from(text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text.replaceAll('\n', '\r\n')),
  ];
  const utf16 = text.replace(/(<\?xml[^>]*encoding=["'])[^"']+/, '$1UTF-16').replace(/^\ufeff?/, '\ufeff');
  yield ['in UTF-16', Buffer.from(utf16, 'utf16le')];
}

/** Parts of a file that can be read alone: statements of MT940, and rows of a table under its heading. */
function* partsOf(text: string, isTable: boolean): Generator<[name: string, bytes: Buffer]> {
  const statements = text.split(/(?=^:20:)/m).filter((it) => it.startsWith(':20:'));
  for (const [index, it] of statements.entries()) yield [`statement ${index + 1}`, Buffer.from(it)];
  if (!isTable) return;
  const [heading = '', ...rows] = text.split(/(?<=\n)/);
  const half = Math.ceil(rows.length / 2);
  yield ['the first half', Buffer.from([heading, ...rows.slice(0, half)].join(''))];
  yield ['the second half', Buffer.from([heading, ...rows.slice(half - 1)].join(''))];
}

// Vitest fails a test file that has no test.
if (!isPresent) it.skip('the test of public samples needs public statement files beside the repository');

it.runIf(isPresent).each(files.map((path) => [basename(path), path]))(
  'the movements of %s are stored once, and a second import of it causes no alarm',
  async (_, path) => {
    const customer = await createStatementCustomer(service, formats);
    const isTable = /\.csv$/i.test(path);
    const send = (bytes: Buffer) =>
      customer.importFile(bytes, isTable ? { account_id: customer.accountId } : { create_accounts: 1 });
    const get = async (url: string) => (await service.call('GET', url, { key: customer.key })).body;
    /** All periods that are not complete. */
    const alarms = async () => {
      const found = [];
      for (const { id } of (await get('/v1/accounts')).accounts) {
        const { late_at, periods } = (await get(`/v1/accounts/${id}/completeness`)).completeness;
        const isWrong = ({ status, missing, surplus }: Record<string, string>) =>
          status !== 'complete' || [missing, surplus].flat().length > 0;
        found.push({ late_at, periods: periods.filter(isWrong) });
      }
      return found;
    };
    const bytes = readFileSync(path);
    await send(bytes);
    const before = await alarms();
    const stored: string[] = [];
    const sendAgain = async (name: string, again: Buffer) => {
      const { inserted } = await send(again);
      if (inserted > 0) stored.push(`${name}: ${inserted}`);
    };
    const text = bytes.toString();
    if (Buffer.from(text).equals(bytes)) {
      for (const [name, again] of reencode(text)) await sendAgain(name, again);
      for (const [name, again] of partsOf(text, isTable)) await sendAgain(name, again);
    }
    await sendAgain('cut off', bytes.subarray(0, bytes.length * 0.9));
    await sendAgain('the same file', bytes);
    expect(stored).toEqual([]);
    expect(await alarms()).toEqual(before);
  },
);
