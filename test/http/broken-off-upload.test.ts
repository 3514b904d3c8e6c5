import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { startApi } from '../../src/api/server.ts';
import { isTransient, mysqlProblem } from '../../src/database/errors.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api'] });
const lines: { level: number; path?: string; status?: number; msg: string }[] = [];
let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  api = await startApi({ ...service.runtime, log }, createStatementFormats([], READ_SETTINGS));
});
afterAll(() => api.stop());

it.each([
  ['JSON', '/v1/imports', 'application/json', '{"transactions":['],
  ['NDJSON', '/v1/imports', 'application/x-ndjson', '{"account_id":"1"}\n'],
  ['a statement file', '/v1/imports', 'application/octet-stream', ':20:A\n:25:TR330006100519786457841326\n'],
  [
    'a form',
    '/v1/imports',
    'multipart/form-data; boundary=b',
    '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n:20:',
  ],
  ['a webhook', '/v1/webhooks', 'application/json', '{"title":'],
])('a client that breaks off %s is no fault of MySQL', async (_, path, type, begin) => {
  const { api_key: key } = await service.customer();
  lines.length = 0;
  const { port, hostname } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthentication: ${key}\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n${begin}`,
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  socket.resetAndDestroy();
  const request = await until('the request in the log', () => lines.find(({ msg }) => msg === 'request'));
  expect(request).toMatchObject({ level: 30, route: path, status: 408 });
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
});

it('only errors of the driver say something about MySQL', () => {
  const error = (fields: object) => Object.assign(new Error('aborted'), fields);
  for (const code of ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED']) {
    expect(mysqlProblem(error({ code }))).toBeNull();
    expect(isTransient(error({ code, fatal: true }))).toBe(true);
  }
});
