import { expect, it, onTestFinished } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import type { FileReader } from '../../src/intake/parser-threads.ts';
import { startImporterWorker } from '../../src/intake/worker.ts';
import { openQueues } from '../../src/platform/queues.ts';
import { connectFailFast } from '../../src/platform/redis.ts';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount, movement } from '../support/movements.ts';
import { startRedisRelay } from '../support/relay.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

// The test starts the importer when everything is queued.
const service = useService({ roles: ['api'] });

const FILES = 60;
const ROWS = 500;

interface Import {
  id: string;
  customer_id: string;
  status: string;
  finished_at: Date | null;
}

const importsOf = (customerId: string) =>
  service.runtime.database.query<Import[]>(
    'SELECT id, customer_id, status, finished_at FROM imports WHERE customer_id = ? ORDER BY id',
    [customerId],
  );

async function newCustomer() {
  const { api_key: key, customer } = await service.customer();
  const { id: account } = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  /** Sends a file of so many rows, which is staged. */
  const send = async (name: string, rows: number) => {
    const lines = Array.from({ length: rows }, (_, at) =>
      JSON.stringify(movement(account, { unique_id: `${name}-${at}` })),
    );
    const { status } = await service.call('POST', '/v1/imports', {
      key,
      type: 'application/x-ndjson',
      body: lines.join('\n'),
    });
    expect(status).toBe(202);
  };
  const sendFile = async (body: string) => {
    const type = 'application/octet-stream';
    const { status } = await service.call('POST', '/v1/imports', { key, type, body });
    expect(status).toBe(202);
  };
  return { id: customer.id, send, sendFile };
}

it('customers take turns: a few rows of one customer do not wait for all files of another, which are stored in order of arrival', async () => {
  const [many, few] = [await newCustomer(), await newCustomer()];
  for (let file = 0; file < FILES; file += 1) await many.send(`file-${file}`, ROWS);
  await few.send('few', 101);
  // A turn of three seconds would be enough for the whole file.
  const importer = startImporterWorker(service.runtime, createStatementFormats([], READ_SETTINGS), {
    timeSlice: 200,
  });
  const done = async (customerId: string) =>
    (await importsOf(customerId)).every(({ status }) => status === 'done');
  await until('all are stored', async () => (await done(many.id)) && (await done(few.id)), 60_000);
  await importer.stop();

  const [own] = await importsOf(few.id);
  const others = await importsOf(many.id);
  const before = others.filter(({ finished_at }) => Number(finished_at) < Number(own?.finished_at));
  expect(before.length).toBeLessThan(FILES / 2);
  const ends = others.map(({ finished_at }) => Number(finished_at));
  expect(ends).toEqual(ends.toSorted((a, b) => a - b));
  const rows = await service.runtime.database.query<{ import_id: string }[]>(
    'SELECT import_id FROM transactions WHERE customer_id = ? ORDER BY id',
    [many.id],
  );
  expect(rows.map(({ import_id }) => import_id)).toEqual(others.flatMap(({ id }) => Array(ROWS).fill(id)));
});

it('a large file is given back when its turn is over and other imports wait, and goes on at its checkpoint', async () => {
  const [large, other] = [await newCustomer(), await newCustomer()];
  await large.send('large', 30_000);
  await other.send('other', 101);
  const importer = startImporterWorker(service.runtime, createStatementFormats([], READ_SETTINGS), {
    timeSlice: 50,
    slots: 1,
  });
  const statusOf = async (customerId: string) => (await importsOf(customerId))[0]?.status;
  await until('the other one is stored', async () => (await statusOf(other.id)) === 'done', 60_000);
  expect(await statusOf(large.id)).toBe('running');
  await until('the large one is stored', async () => (await statusOf(large.id)) === 'done', 60_000);
  await importer.stop();
  const [stored] = await service.runtime.database.query<{ inserted: number; crash_count: number }[]>(
    'SELECT inserted, crash_count FROM imports WHERE customer_id = ?',
    [large.id],
  );
  expect(stored).toEqual({ inserted: 30_000, crash_count: 0 });
});

it('an import that has begun goes on while Redis does not answer', async () => {
  const { runtime } = service;
  const relay = await startRedisRelay();
  const connection = connectFailFast(relay.url);
  await until('Redis', () => connection.status === 'ready');
  const queues = openQueues(connection, { prefix: runtime.prefix, deliveryQueues: 1 });
  onTestFinished(async () => {
    await queues.close();
    connection.disconnect();
  });
  const customer = await newCustomer();
  await customer.send('without-redis', 2_500);
  relay.hang(true);
  const importer = startImporterWorker({ ...runtime, queues }, createStatementFormats([], READ_SETTINGS), {
    timeSlice: 0,
  });
  const imported = async () => (await importsOf(customer.id))[0]?.status;
  await until('the import is done', async () => (await imported()) === 'done', 30_000);
  relay.hang(false);
  await importer.stop();
});

it('files whose threads are at work take no turn from the imports of others, and end', async () => {
  const slow = [await newCustomer(), await newCustomer(), await newCustomer()];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const formats = createStatementFormats([], READ_SETTINGS);
  let reading = 0;
  const reader: FileReader = {
    ...formats,
    async *read(parts, recognition) {
      reading += 1;
      await released;
      yield* formats.read(parts, recognition);
    },
  };
  for (const { sendFile } of slow) await sendFile(mt940([{ day: 2, amount: 10 }]));
  const importer = startImporterWorker(service.runtime, reader);
  await until('the threads are at work', () => reading === slow.length);
  const other = await newCustomer();
  await other.send('other', 101);
  const done = async (customerId: string) => (await importsOf(customerId))[0]?.status === 'done';
  await until('the other one is stored', () => done(other.id));
  for (const { id } of slow) expect(await done(id)).toBe(false);
  release();
  await until('the files are stored', async () =>
    (await Promise.all(slow.map(({ id }) => done(id)))).every(Boolean),
  );
  await importer.stop();
});
