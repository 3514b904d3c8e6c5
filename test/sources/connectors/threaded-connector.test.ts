import { readdir, readlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import type { Connector } from '../../../src/sources/connectors/connector.ts';
import { createThreadedConnector } from '../../../src/sources/connectors/threaded-connector.ts';
import { until } from '../../support/until.ts';
import { collect } from './collect.ts';
import { sendFile, startWebServer } from './web-server.ts';

const connectors: Connector[] = [];
afterEach(async () => {
  for (const connector of connectors.splice(0)) await connector.close();
});

function connectTo(settings: object, memoryLimit?: number): Connector {
  const source = {
    kind: 'http' as const,
    credentials: {},
    accountId: '1',
    settleSeconds: 0,
    allow: ['127.0.0.0/8'],
  };
  const connector = createThreadedConnector(
    { ...source, settings },
    memoryLimit === undefined ? {} : { memoryLimit },
  );
  connectors.push(connector);
  return connector;
}

it('a connector in a thread gives the same files', async () => {
  const text = 'A;B\n'.repeat(100_000);
  const { origin } = await startWebServer((request, response) => sendFile(request, response, text, '"1"'));
  const files = await collect(connectTo({ url: `${origin}/statements.csv` }));
  expect(files).toMatchObject([{ name: 'statements.csv', text }]);
});

it('the error of a connector in a thread arrives as its sentence', async () => {
  const { origin } = await startWebServer((_, response) => void response.writeHead(401).end());
  await expect(collect(connectTo({ url: `${origin}/statements.csv` }))).rejects.toThrow(/401/);
});

it('a connector in a thread also refuses an address that is not allowed', async () => {
  await expect(collect(connectTo({ url: 'http://10.0.0.1/statements.csv' }))).rejects.toThrow(/address/);
});

it('a server that fills the memory of a connector thread ends only the run, with an error', async () => {
  // A page of 8 MiB is allowed. As objects it takes many times as much.
  const rows = `[${Array.from({ length: 600_000 }, () => '{"a":[]}').join()}]`;
  const { origin } = await startWebServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(rows);
  });
  const settings = { url: `${origin}/rows`, format: 'json' };
  await expect(collect(connectTo(settings, 16))).rejects.toThrow(
    'The server sent something that needs more memory than a source may take.',
  );
});

/** Temporary files that this process holds open. They have no name any more. */
const heldFiles = async () => {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((it) => /\/ledgerbell-[0-9a-f]{32} \(deleted\)$/.test(it));
};

it.skipIf(process.platform !== 'linux').each(['is aborted', 'is read', 'ends the thread'])(
  'the copy of a file without a version has no name, and is gone when its run %s',
  async (end) => {
    let finish = () => {};
    const { origin } = await startWebServer((_, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' }).write(Buffer.alloc(1024 * 1024, 'x'));
      finish = () => void response.end();
    });
    const connector = connectTo({ url: `${origin}/statements.csv` });
    const ending = new AbortController();
    const isCopy = (name: string) => /^ledgerbell-[0-9a-f]{32}$/.test(name);
    let arrived = 0;
    const reading = (async () => {
      let bytes = 0;
      for await (const file of connector.files(null, ending.signal, (more) => {
        arrived += more;
      }))
        for await (const part of file.open(ending.signal)) bytes += part.length;
      return bytes;
    })();
    reading.catch(() => {});
    await until(
      'the copy is being made',
      async () => arrived >= 512 * 1024 && (await heldFiles()).length === 1,
    );
    expect((await readdir(tmpdir())).filter(isCopy)).toEqual([]);
    if (end === 'is aborted') {
      ending.abort(new Error('the run is over'));
      await expect(reading).rejects.toThrow('the run is over');
    } else if (end === 'is read') {
      finish();
      expect(await reading).toBe(1024 * 1024);
    }
    await connector.close();
    await until('the copy is gone', async () => (await heldFiles()).length === 0);
  },
);

it('an aborted run does not wait for a server that hangs', async () => {
  const { origin } = await startWebServer(() => {});
  const connector = connectTo({ url: `${origin}/statements.csv` });
  const reason = new Error('the run is over');
  await expect(collect(connector, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const ending = new AbortController();
  const collecting = collect(connector, { signal: ending.signal });
  setTimeout(() => ending.abort(reason), 300);
  await expect(collecting).rejects.toBe(reason);
});
