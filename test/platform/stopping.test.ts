import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { stopInReverse, stopTogether } from '../../src/platform/stopping.ts';
import { findRunning } from '../../src/servers/running-servers.ts';
import { startService } from '../../src/service.ts';
import { ask } from '../servers/embedded/clients.ts';

const failing = (message: string) => async () => {
  throw new Error(message);
};

it('the service stops its parts one by one, in the reverse order of their start', async () => {
  const order: string[] = [];
  const stop = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${name} ends`);
  };
  await stopInReverse([stop('first'), stop('second')]);
  expect(order).toEqual(['second begins', 'second ends', 'first begins', 'first ends']);
});

it.each([
  ['stopInReverse', stopInReverse],
  ['stopTogether', stopTogether],
])('%s stops all parts even when some fail, and then reports each failure', async (_, stopAll) => {
  const stopped: number[] = [];
  const stop = (number: number) => () => stopped.push(number);
  const throwing = () => {
    throw new Error('throws immediately');
  };
  const stopping = stopAll([stop(1), failing('rejects'), stop(2), throwing, stop(3)]);
  await expect(stopping).rejects.toBeInstanceOf(AggregateError);
  await expect(stopping).rejects.toThrow(/rejects/);
  await expect(stopping).rejects.toThrow(/throws immediately/);
  expect(stopped.toSorted()).toEqual([1, 2, 3]);
  await expect(stopAll([failing('the only one')])).rejects.toThrow(/^the only one$/);
});

it('a service with a part that cannot be stopped still stops its servers', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'lb-stopping-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const service = await startService({
    config: readConfig({ DATA_DIR: dataDir, PORT: '0' }),
    roles: ['api'],
    log: createLog('silent'),
    announce: () => {},
  });
  const { databaseUrl = '' } = (await findRunning(dataDir)) ?? {};
  const { database } = service.runtime;
  const destroy = database.destroy.bind(database);
  database.destroy = async () => {
    await destroy();
    throw new Error('the pool is stuck');
  };
  await expect(service.stop()).rejects.toThrow('the pool is stuck');
  expect(await findRunning(dataDir)).toBeNull();
  await expect(ask(databaseUrl, 'SELECT 1')).rejects.toThrow();
});
