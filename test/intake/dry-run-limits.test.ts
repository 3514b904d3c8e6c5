import { once } from 'node:events';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitDryRun } from '../../src/intake/dry-runs.ts';
import { movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createDryRunCustomer } from './dry-run-customer.ts';
import { mt940, type TestEntry } from './statement-files.ts';

const service = useOwnService({ because: 'four dry runs run at a time', roles: ['api', 'importer'] });

const customer = () => createDryRunCustomer(service);

describe('a dry run of JSON or NDJSON', () => {
  it('says which movements are known, and which lines are rejected', async () => {
    const { dryRun, importFile, accountId } = await customer();
    const rows = ['a', 'b', 'b'].map((id) => movement(accountId, { unique_id: `ğ-${id}` }));
    await importFile(JSON.stringify({ transactions: rows.slice(0, 1) }), '', 'application/json');
    const known = [true, false, true];
    const json = await dryRun(JSON.stringify({ transactions: rows }), '', 'application/json');
    expect(json.dry_run).toMatchObject({ format: 'json', received: 3, inserted: 1, duplicates: 2 });
    expect(json.transactions.map((row: { known: boolean }) => row.known)).toEqual(known);
    const lines = [...rows.map((row) => JSON.stringify(row)), '{}', JSON.stringify(movement('999'))];
    const ndjson = await dryRun(lines.join('\n'), '', 'application/x-ndjson');
    expect(ndjson.dry_run).toMatchObject({ format: 'ndjson', received: 5, inserted: 1, rejected: 2 });
    expect(ndjson.transactions.map((row: { known: boolean }) => row.known)).toEqual(known);
    expect(ndjson.errors).toContainEqual({ line: 5, path: 'account_id', message: expect.any(String) });
  });

  it('refuses JSON that an import would refuse', async () => {
    const { key } = await customer();
    const answer = await service.call('POST', '/v1/imports?dry_run=true', {
      key,
      body: { transactions: [movement('999')] },
    });
    expectProblem(answer, 422);
  });

  it('refuses invalid values of dry_run', async () => {
    const { key, accountId } = await customer();
    const body = { transactions: [movement(accountId)] };
    const answer = await service.call('POST', '/v1/imports?dry_run=yes', { key, body });
    expect(answer.body.errors).toEqual([{ path: 'dry_run', message: 'must be "true" or "false"' }]);
  });
});

it('a second dry run of a customer waits for the first, is refused after a while, and is taken later', async () => {
  const { key } = await customer();
  const many = mt940(Array.from({ length: 3_000 }, (_, at): TestEntry => ({ day: 2, amount: at + 1 })));
  /** Begins a dry run whose body has not come to its end. */
  const begin = () => {
    const first = request(`${service.url}/v1/imports?dry_run=true`, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': 'application/octet-stream' },
    });
    onTestFinished(() => void first.destroy());
    const answered = once(first, 'response');
    first.write(many.slice(0, 80_000));
    return { first, answered };
  };
  const next = () =>
    service.call('POST', '/v1/imports?dry_run=true', {
      key,
      body: Buffer.from(mt940([])),
      type: 'application/octet-stream',
    });
  let { first, answered } = begin();
  await until('the first one to be read', async () => {
    if ((await next()).status === 503) return true;
    // On a busy machine, the first one may have waited for its turn for too long.
    const isOver = await Promise.race([answered.then(() => true), sleep(0).then(() => false)]);
    if (isOver) ({ first, answered } = begin());
    return false;
  });
  first.end(many.slice(80_000));
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  response.resume();
  expect((await next()).status).toBe(200);
});

it('a dry run may work for 60 seconds, not counting its waits for the body', async () => {
  let now = 0;
  async function* slowly() {
    for (let part = 0; part < 4; part += 1) {
      now += 7_000;
      yield Buffer.from([part]);
    }
  }
  const work = async (milliseconds: number) => {
    const limit = limitDryRun({ now: () => now });
    let read = 0;
    for await (const part of limit.rows(limit.body(slowly()))) {
      read += part.length;
      now += milliseconds;
    }
    return read;
  };
  expect(await work(20_000)).toBe(4);
  await expect(work(20_001)).rejects.toThrow('A dry run may take 60 s, and this file takes longer.');
});

it('the working time of a dry run is measured per batch, even when the whole body is one part', async () => {
  let now = 0;
  async function* batches(parts: AsyncIterable<Uint8Array>) {
    for await (const _ of parts) for (let row = 0; row < 100; row += 1) yield row;
  }
  const limit = limitDryRun({ now: () => now });
  const read: number[] = [];
  const reading = (async () => {
    for await (const row of limit.rows(batches(limit.body(Readable.from([Buffer.from('x')]))))) {
      read.push(row);
      now += 1_000;
    }
  })();
  await expect(reading).rejects.toThrow('A dry run may take 60 s');
  expect(read).toHaveLength(61);
});

it('the body of a dry run may arrive slowly, but must not stop', async () => {
  const body = (part: number, pause: number) =>
    Readable.from(
      (async function* () {
        for (let i = 0; i < 8; i += 1) {
          await sleep(pause);
          yield Buffer.alloc(part);
        }
      })(),
    );
  const receive = async (bytes: Readable) => {
    let received = 0;
    for await (const part of limitDryRun({ patience: 3_000 }).body(bytes)) received += part.length;
    return received;
  };
  // It takes longer than the patience, in which only the bytes that have come give it more time.
  expect(await receive(body(20_000, 500))).toBe(160_000);
  await expect(receive(body(10, 500))).rejects.toMatchObject({ problem: 'request-timeout' });
});

it('a dry run whose body has barely started does not block other dry runs of its customer', async () => {
  const { key } = await customer();
  const file = mt940([{ day: 2, amount: 1 }]);
  const first = request(`${service.url}/v1/imports?dry_run=true`, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/octet-stream' },
  });
  onTestFinished(() => void first.destroy());
  const answered = once(first, 'response');
  first.write(file.slice(0, 100));
  const next = () =>
    service.call('POST', '/v1/imports?dry_run=true', {
      key,
      body: Buffer.from(file),
      type: 'application/octet-stream',
    });
  for (let i = 0; i < 3; i += 1) expect((await next()).status).toBe(200);
  first.end(file.slice(100));
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  response.resume();
});
