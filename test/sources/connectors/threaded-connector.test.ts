import { afterEach, expect, it } from 'vitest';
import type { Connector } from '../../../src/sources/connectors/connector.ts';
import { createThreadedConnector } from '../../../src/sources/connectors/threaded-connector.ts';
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
