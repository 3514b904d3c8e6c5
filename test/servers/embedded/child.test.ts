import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runServer } from '../../../src/servers/embedded/child.ts';
import { until } from '../../support/until.ts';
import { temporaryDirectory } from './directory.ts';

/** The children of this process that have not ended. */
const countChildren = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

test('a server whose record cannot be written leaves no process behind', async () => {
  const dataDir = await temporaryDirectory();
  const before = countChildren();
  // No file can be written in its place.
  await mkdir(join(dataDir, 'redis.json', 'taken'), { recursive: true });
  const server = {
    name: 'redis',
    title: 'Redis',
    command: ['sleep', '1000'],
    socket: join(dataDir, 'redis.sock'),
    url: '',
    ping: async () => {},
  } as const;
  await expect(runServer(dataDir, server, { announce: () => {} })).rejects.toThrow();
  await until('its shell to end', () => countChildren() === before, 10_000);
});
