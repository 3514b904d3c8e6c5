import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { expect, inject, it } from 'vitest';
import type { WriteResult } from '../../src/database/transaction.ts';
import { dropDeadUploads } from '../../src/ledger/earlier-uploads.ts';
import { createAccount, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { startServiceProcess } from '../support/process.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const secretKey = Buffer.alloc(32, 'k').toString('base64');
// No maintenance role, so that no upload is dropped in the background.
const service = useOwnService({ because: 'its SECRET_KEY is known', roles: ['api'], config: { secretKey } });

const PART = 1024 * 1024;
const IDEMPOTENCY_KEY = 'once';

interface Row {
  id: string;
  status: string;
  age: string;
  parts: string;
}

async function createUploader() {
  const { api_key: key, customer } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const row = `${JSON.stringify(movement(accountId))}\n`;
  const { database } = service.runtime;
  return {
    /** Sends the first three parts of a body, waits until they are stored, and leaves the upload open. */
    async begin(url = service.url): Promise<ClientRequest> {
      const upload = request(`${url}/v1/imports`, {
        method: 'POST',
        headers: {
          Authentication: key,
          'Content-Type': 'application/x-ndjson',
          'Idempotency-Key': IDEMPOTENCY_KEY,
        },
      });
      upload.on('error', () => {});
      upload.write(Buffer.alloc(3 * PART, row));
      await until('its first parts stored', async () => Number((await this.rows())[0]?.parts ?? 0) >= 3);
      return upload;
    },
    send: () =>
      service.call('POST', '/v1/imports', {
        key,
        body: row,
        type: 'application/x-ndjson',
        headers: { 'Idempotency-Key': IDEMPOTENCY_KEY },
      }),
    /** The customer's imports, with the seconds since their heartbeat and the number of stored parts. */
    rows: () =>
      database.query<Row[]>(
        `SELECT i.id, i.status, TIMESTAMPDIFF(MICROSECOND, i.received_at, NOW(6)) / 1000000 AS age, COUNT(p.seq) AS parts
         FROM imports i LEFT JOIN import_parts p ON p.import_id = i.id WHERE i.customer_id = ? GROUP BY i.id`,
        [customer.id],
      ),
    /** Inserts what a killed process leaves behind: a `receiving` import with one part and a heartbeat this many seconds ago. */
    async leave(seconds: number): Promise<void> {
      const { insertId } = await database.query<WriteResult>(
        `INSERT INTO imports (customer_id, api_key_id, format, idempotency_key, status, received_at)
         VALUES (?, 1, 'ndjson', ?, 'receiving', NOW(6) - INTERVAL ? SECOND)`,
        [customer.id, IDEMPOTENCY_KEY, seconds],
      );
      await database.query('INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, 0, ?)', [
        insertId,
        row,
      ]);
    },
    /** Sets the upload's heartbeat to this many seconds ago. */
    age: (seconds: number) =>
      database.query('UPDATE imports SET received_at = NOW(6) - INTERVAL ? SECOND WHERE customer_id = ?', [
        seconds,
        customer.id,
      ]),
  };
}

async function answerTo(upload: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

it('an upload whose API process is killed frees its Idempotency-Key within seconds', async () => {
  const process = startServiceProcess(
    {
      DATABASE_URL: databaseUrl(),
      REDIS_URL: inject('redisUrl'),
      SECRET_KEY: secretKey,
    },
    ['--roles', 'api'],
  );
  const uploader = await createUploader();
  await uploader.begin(await process.url());
  await process.end('SIGKILL');
  expectProblem(await uploader.send(), 409);
  const answer = await until(
    'the key is free',
    async () => {
      const answer = await uploader.send();
      return answer.status !== 409 && answer;
    },
    40_000,
  );
  expect(answer.status).toBe(202);
  expect(await uploader.rows()).toEqual([
    expect.objectContaining({ id: String(answer.body.import.id), parts: '1' }),
  ]);
});

it('a dead upload lets exactly one of several requests with its Idempotency-Key through', async () => {
  const uploader = await createUploader();
  await uploader.leave(16);
  const answers = await Promise.all([1, 2, 3, 4].map(() => uploader.send()));
  const ids = answers.filter(({ status }) => status === 202).map(({ body }) => String(body.import.id));
  expect(new Set(ids).size).toBe(1);
  expect((await uploader.rows()).map(({ id }) => id)).toEqual([ids[0]]);
});

it('the reconciler drops a dead upload and its parts', async () => {
  const [dead, living] = [await createUploader(), await createUploader()];
  await dead.leave(16);
  await living.leave(5);
  expect(await dropDeadUploads(service.runtime.database)).toBe(1);
  expect(await dead.rows()).toEqual([]);
  expect(await living.rows()).toEqual([expect.objectContaining({ status: 'receiving', parts: '1' })]);
  expectProblem(await living.send(), 409);
});

it('an upload stays alive while its client pauses', async () => {
  const uploader = await createUploader();
  const upload = await uploader.begin();
  await uploader.age(14);
  await until('its heartbeat', async () => Number((await uploader.rows())[0]?.age) < 2);
  expectProblem(await uploader.send(), 409);
  expect(await dropDeadUploads(service.runtime.database)).toBe(0);
  upload.end();
  expect(await answerTo(upload)).toBe(202);
});

it.each([
  ['its next part', 2 * PART],
  ['its end', 0],
])(
  'an upload that was dropped as dead is answered with 503 at %s, and can be sent again',
  async (_, bytes) => {
    const uploader = await createUploader();
    const upload = await uploader.begin();
    await until('it is dropped between two heartbeats', async () => {
      await uploader.age(16);
      return (await dropDeadUploads(service.runtime.database)) === 1;
    });
    upload.end(Buffer.alloc(bytes, '\n'));
    expect(await answerTo(upload)).toBe(503);
    expect(await uploader.rows()).toEqual([]);
    expect((await uploader.send()).status).toBe(202);
  },
);

/** URL of this file's database, for a second process. */
function databaseUrl(): string {
  const { database } = service.runtime.database.options as { database: string };
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${database}`;
  return url.href;
}
