import { EventEmitter, once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRowCounter } from '../../src/cli/csv-export.ts';
import { LOOKED_AT, storePageOfMovements } from '../support/many-movements.ts';
import { movement } from '../support/movements.ts';
import { documentOf, type Finished, reasonOf, runHere, spawnCli } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();

interface Customer {
  id: string;
  key: string;
  account: string;
}

/** A customer with a few movements of two accounts. */
let few: Customer & { other: string; importId: string };
/** A customer with so many movements that a search for the last one has an empty page before. */
let many: Customer;

/** Calls the API of the running service. */
async function call(key: string, method: string, path: string, body?: object): Promise<Response> {
  const response = await fetch(`${running.url}${path}`, {
    method,
    headers: { Authentication: key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  return response;
}

/** Imports rows. @returns the id of the import. */
async function importRows({ key }: Customer, rows: object[]): Promise<string> {
  const args = ['import', '-', '--format', 'ndjson', '--json'];
  const child = spawnCli(args, environmentOf(key), { stdin: 'pipe' });
  child.stdin?.end(rows.map((row) => JSON.stringify(row)).join('\n'));
  const { code, stdout } = await finished(child);
  expect(code).toBe(0);
  return String(JSON.parse(stdout).import.id);
}

const environmentOf = (key: string, url = running.url) => ({ LEDGERBELL_API_KEY: key, LEDGERBELL_URL: url });

/** Waits for the end of a command in a process of its own. */
async function finished(child: ReturnType<typeof spawnCli>): Promise<Finished> {
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no output to read');
  const closed = once(child, 'close');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

const LONG = `Rechnung ${'4711 '.repeat(60)}Ende`;

beforeAll(async () => {
  const customer = await running.createCustomer();
  const args = [
    '--bank',
    'Ziraat',
    '--title',
    'Euro',
    '--currency',
    'EUR',
    '--json',
    '--customer',
    customer.id,
  ];
  const made = documentOf(await running.asOperator('accounts', 'create', ...args));
  const other = String(made.account.id);
  await importRows(customer, [
    movement(customer.account, {
      unique_id: 'a',
      amount: '10.00',
      date_issue: '2026-01-05',
      description: LONG,
    }),
    movement(customer.account, { unique_id: 'b', amount: '20.00', dc: 'Debit', date_issue: '2026-01-06' }),
  ]);
  const importId = await importRows(customer, [
    movement(other, { unique_id: 'c', amount: '30.00', name: 'Şükrü IŞIK', date_issue: '2026-01-07' }),
    movement(other, {
      unique_id: 'd',
      amount: '40.00',
      opponent_iban: 'DE89370400440532013000',
      date_issue: '2026-01-08',
    }),
  ]);
  few = { ...customer, other, importId };
  many = await running.createCustomer();
  await importRows(many, [movement(many.account, { unique_id: 'first', date_issue: '2026-01-15' })]);
  await storePageOfMovements(running.database, { customerId: many.id, accountId: many.account });
  await importRows(many, [
    movement(many.account, { unique_id: 'last', amount: '7.00', date_issue: '2026-01-15' }),
  ]);
}, 180_000);

/** A new folder, which is removed at the end of the test. */
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-export-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

describe.each(['as the operator', 'with an API key'])('ledgerbell movements %s', (access) => {
  const http = access === 'with an API key';
  const run = (customer: Customer, ...args: string[]) =>
    http
      ? runHere(['movements', ...args], environmentOf(customer.key))
      : runHere(['movements', ...args, '--customer', customer.id], running.environment);
  const namesOf = async (...args: string[]) => {
    const { transactions } = documentOf(await run(few, 'list', ...args, '--json'));
    return transactions.map((it: { unique_id: string }) => it.unique_id).join('');
  };

  it('movements are listed by each filter', async () => {
    const starts = ['--starts', '2026-01-01'];
    const { transactions } = documentOf(await run(few, 'list', ...starts, '--json'));
    expect(transactions[0]).toMatchObject({ unique_id: 'a', amount: '10.00', account: { currency: 'TRY' } });
    const after: string = transactions[0].date_readed;
    expect(await namesOf('--starts', '2026-01-06', '--ends', '2026-01-07')).toBe('bc');
    expect(await namesOf('--after', after)).toBe('abcd');
    expect(await namesOf(...starts, '--order', 'newest')).toBe('dcba');
    expect(await namesOf(...starts, '--dc', 'Debit')).toBe('b');
    expect(await namesOf(...starts, '--amount', '30')).toBe('c');
    expect(await namesOf(...starts, '--amount-min', '20', '--amount-max', '30.00')).toBe('bc');
    expect(await namesOf(...starts, '--currency', 'EUR')).toBe('cd');
    expect(await namesOf(...starts, '--q', 'isik sukru')).toBe('c');
    expect(await namesOf(...starts, '--opponent-iban', 'de89 3704 0044 0532 0130 00')).toBe('d');
    expect(await namesOf('--unique-id', 'b')).toBe('b');
    expect(await namesOf('--import-id', few.importId)).toBe('cd');
    expect(await namesOf(...starts, '--account', few.other)).toBe('cd');
    expect(await namesOf(...starts, '--account', `${few.account},${few.other}`)).toBe('abcd');
    expect(await namesOf(...starts, '--account', few.account, '--account', few.other)).toBe('abcd');
  });

  it('movements are a table of whole texts in a pipe, and more than --limit are announced', async () => {
    const { code, stdout, stderr } = await run(few, 'list', '--starts', '2026-01-01', '--limit', '1');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'There may be more than 1: say how many with --limit.\n',
    });
    const [titles, row] = stdout.split('\n');
    expect(titles).toMatch(/^ *id +date +account +dc +amount +currency +name +description$/);
    expect(row).toMatch(/^ *\d+ +2026-01-05 +\d+ +Credit +10\.00 +TRY +- +Rechnung (4711 ){60}Ende$/);
    expect((await run(few, 'list', '--starts', '2030-01-01')).stdout).toBe('None.\n');
  });

  it('a wrong filter is refused with the name of the option', async () => {
    expect(reasonOf(await run(few, 'list', '--dc', 'Debit'))).toBe(
      'error: --starts is required, unless ends, after, unique_id or import_id is given.',
    );
    expect(reasonOf(await run(few, 'export', '--q', 'x'))).toContain('--starts is required');
    const wrong = ['--starts', '2026-01-01', '--amount-min', '5', '--amount-max', '4'];
    expect(reasonOf(await run(few, 'list', ...wrong))).toBe(
      'error: --amount-min must not be more than amount_max.',
    );
    expect(reasonOf(await run(few, 'export', '--starts', '2026-01-01', '--columns', 'secret'))).toMatch(
      /^error: --columns must be up to \d+ names with commas between them, of: id, /,
    );
  });

  it('movements are found behind a page on which the search has found nothing', async () => {
    const query = '/v1/transactions?starts=2026-01-01&amount=7';
    const page = await call(many.key, 'GET', query);
    expect(await page.json()).toEqual({ transactions: [] });
    expect(page.headers.get('link')).not.toBeNull();
    const { transactions } = documentOf(
      await run(many, 'list', '--starts', '2026-01-01', '--amount', '7', '--json'),
    );
    expect(transactions).toMatchObject([{ unique_id: 'last' }]);
    const found = await run(
      many,
      'export',
      '--starts',
      '2026-01-01',
      '--amount',
      '7',
      '--columns',
      'unique_id',
    );
    expect(found).toEqual({ code: 0, stdout: 'unique_id\r\nlast\r\n', stderr: '' });
  });

  it('movements are exported to standard output as the API writes them', async () => {
    const options = ['--columns', 'unique_id,signed_amount,name', '--decimal', 'comma', '--bom', '--raw'];
    expect(await run(few, 'export', '--starts', '2026-01-06', ...options, '--order', 'newest')).toEqual({
      code: 0,
      stdout: '\uFEFFunique_id,signed_amount,name\r\nd,"40,00",\r\nc,"30,00",Şükrü IŞIK\r\nb,"-20,00",\r\n',
      stderr: '',
    });
    const { stdout } = await run(few, 'export', '--starts', '2026-01-06', '--fields', 'extended');
    expect(stdout).toMatch(/^id,account_id,.*,value_date,.*\r\n/);
  });

  it('movements are exported into a file, which is replaced only with --force', async () => {
    const folder = await newFolder();
    const file = join(folder, 'january.csv');
    const save = (...args: string[]) =>
      run(many, 'export', '--starts', '2026-01-01', '--columns', 'unique_id', '--output', file, ...args);
    const whole = {
      code: 0,
      stdout: `${(LOOKED_AT + 2).toLocaleString('en')} movements in ${file}.\n`,
      stderr: '',
    };
    expect(await save()).toEqual(whole);
    const lines = (await readFile(file, 'utf8')).split('\r\n');
    expect([lines.length, lines.slice(0, 2), lines.slice(-2)]).toEqual([
      LOOKED_AT + 4,
      ['unique_id', 'first'],
      ['last', ''],
    ]);
    await writeFile(file, 'another', { mode: 0o600 });
    expect(reasonOf(await save())).toBe(
      `error: ${file} exists. Name another file with --output, or replace it with --force.`,
    );
    expect(await readFile(file, 'utf8')).toBe('another');
    await rm(file);
    await writeFile(file, 'another', { mode: 0o600 });
    expect(await save('--force')).toEqual(whole);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).split('\r\n')).toHaveLength(LOOKED_AT + 4);
    expect(await readdir(folder)).toEqual(['january.csv']);
  });

  it('movements are not exported to where no file can be', async () => {
    const folder = await newFolder();
    const to = (path: string) => run(few, 'export', '--starts', '2026-01-01', '--output', path, '--force');
    expect(reasonOf(await to(folder))).toBe(`error: --output must be a file. ${folder} is none.`);
    expect(reasonOf(await to(join(folder, 'none', 'x.csv')))).toBe(
      `error: ${join(folder, 'none', 'x.csv')} cannot be written (ENOENT).`,
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('an export that breaks off', () => {
  const ARGS = ['movements', 'export', '--starts', '2026-01-01'];

  /** A key that is about to be deleted. */
  async function makeKey(): Promise<{ apikey: string; remove: () => Promise<void> }> {
    const body = { title: 'Export', account: 'all' };
    const { apikey } = (await (await call(many.key, 'POST', '/v1/apikeys', body)).json()) as {
      apikey: { id: number; apikey: string };
    };
    const remove = async () => void (await call(many.key, 'DELETE', `/v1/apikeys/${apikey.id}`));
    return { apikey: apikey.apikey, remove };
  }

  /** Starts an export to a pipe. It has printed something, and waits for its reader. */
  async function startPiped(args: string[], env: Record<string, string>) {
    const child = spawnCli(args, env);
    onTestFinished(() => void child.kill('SIGKILL'));
    if (child.stdout === null || child.stderr === null) throw new Error('the command has no output to read');
    const { stdout } = child;
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    // Holds what is not read yet. The command may end before its reader goes on, and Node then empties a pipe that nobody reads.
    const held = stdout.pipe(new PassThrough());
    await once(held, 'readable');
    return {
      /** Reads on, to the end of the command. */
      async finish(): Promise<Finished> {
        const printed = await text(held);
        return { code: (await closed)[0], stdout: printed, stderr: await stderr };
      },
      /** The reader has enough. */
      async leave() {
        stdout.destroy();
        return [await stderr, ...(await closed)];
      },
    };
  }

  /** Stands before the service. It holds back what comes after the first 64 KiB of an answer, until it is released. */
  async function startHolding() {
    const { hostname, port } = new URL(running.url);
    const events = new EventEmitter();
    const held = once(events, 'held');
    const relay = createServer((client) => {
      const server = connect(Number(port), hostname);
      let passed = 0;
      let isHeld = false;
      client.on('error', () => {}).on('close', () => server.destroy());
      client.pipe(server);
      server.on('error', () => {}).on('close', () => client.destroy());
      server.on('data', (part) => {
        client.write(part);
        passed += part.length;
        if (isHeld || passed < 64 * 1024) return;
        isHeld = true;
        server.pause();
        events.once('release', () => server.resume()).emit('held');
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void relay.close());
    await once(relay, 'listening');
    const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    return { url, held, release: () => void events.emit('release') };
  }

  it('says so, when its key is deleted meanwhile', async () => {
    const { apikey, remove } = await makeKey();
    const piped = await startPiped(ARGS, environmentOf(apikey));
    await remove();
    const { code, stdout, stderr } = await piped.finish();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: The answer of the service broke off (ECONNRESET). What was written is not whole. Run the command again.\n',
    });
    expect(stdout).toContain(',first\r\n');
    expect(stdout).not.toContain(',last\r\n');
  });

  it('says so as the operator, when the database fails', async () => {
    const piped = await startPiped([...ARGS, '--customer', many.id], running.environment);
    await running.database.query('RENAME TABLE transactions TO transactions_elsewhere');
    const { code, stdout, stderr } = await piped
      .finish()
      .finally(() => running.database.query('RENAME TABLE transactions_elsewhere TO transactions'));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: The answer of the service broke off \(.+\)\. What was written is not whole\. .*\n$/,
    );
    expect(stdout).toContain(',first\r\n');
    expect(stdout).not.toContain(',last\r\n');
  });

  it('leaves no file, and leaves the one that it was to replace as it was', async () => {
    for (const before of [undefined, 'another']) {
      const folder = await newFolder();
      const file = join(folder, 'january.csv');
      if (before !== undefined) await writeFile(file, before);
      const { apikey, remove } = await makeKey();
      const holding = await startHolding();
      const child = spawnCli([...ARGS, '--output', file, '--force'], environmentOf(apikey, holding.url));
      const ended = finished(child);
      await holding.held;
      await remove();
      holding.release();
      expect(await ended).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: The answer of the service broke off (ECONNRESET). ${file} was not written. Run the command again.\n`,
      });
      expect(await readdir(folder)).toEqual(before === undefined ? [] : ['january.csv']);
      if (before !== undefined) expect(await readFile(file, 'utf8')).toBe(before);
    }
  });

  it('leaves no file when it is interrupted', async () => {
    const folder = await newFolder();
    const holding = await startHolding();
    const args = [...ARGS, '--output', join(folder, 'january.csv')];
    const child = spawnCli(args, environmentOf(many.key, holding.url));
    const ended = finished(child);
    await holding.held;
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 130, stdout: '', stderr: '' });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['as the operator', 'with an API key'])(
    'ends without an error %s when its reader has enough',
    async (access) => {
      const piped =
        access === 'with an API key'
          ? await startPiped(ARGS, environmentOf(many.key))
          : await startPiped([...ARGS, '--customer', many.id], running.environment);
      expect(await piped.leave()).toEqual(['', 0, null]);
    },
  );
});

it('rows of a CSV are counted whatever their texts contain, and wherever they are cut', () => {
  const csv = Buffer.from('id,name\r\n1,"a ""quoted""\r\nline"\r\n2,"\n"\r\n');
  for (let at = 0; at <= csv.length; at += 1) {
    const counter = createRowCounter();
    counter.count(csv.subarray(0, at));
    counter.count(csv.subarray(at));
    expect(counter.rows).toBe(2);
  }
});
