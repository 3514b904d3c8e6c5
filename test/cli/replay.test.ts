import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../../src/cli/api-client.ts';
import { followImport, ImportAnswer } from '../../src/cli/import-progress.ts';
import { createCustomer } from '../../src/customers/customers.ts';
import { ROLES, readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { until } from '../support/until.ts';
import { documentOf, reasonOf, runHere } from './command.ts';

const { url } = useDatabase();
const receiver = useReceiver();

const environment = {
  PORT: '0',
  DATA_DIR: newDataDir(),
  DATABASE_URL: url,
  REDIS_URL: useRedisDatabase(),
  SECRET_KEY: randomBytes(32).toString('base64'),
  ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
};

let service: Service;
beforeAll(async () => {
  const log = createLog('silent');
  service = await startService({ config: readConfig(environment), roles: ROLES, log, announce: () => {} });
});
afterAll(() => service?.stop());

const idOf = (name: string) =>
  v.object({ [name]: v.object({ id: v.pipe(v.number(), v.transform(String)) }) });

describe('ledgerbell replay', () => {
  it('makes the running service send the notifications of a webhook again', async () => {
    const { api_key: key } = await createCustomer(service.runtime, 'Tekrar');
    const api = createApi(service.url, key);
    const { account } = await api.post(
      '/v1/accounts',
      { bank: 'Ziraat', title: 'Ana', currency: 'TRY' },
      idOf('account'),
    );
    const { webhook } = await api.post(
      '/v1/webhooks',
      { title: 'Replayed', endpoint: `${receiver.url}/again`, event: 'NEW_TRANSACTION', account: 'all' },
      idOf('webhook'),
    );
    const webhookId = webhook?.id ?? '';
    const accountId = account?.id ?? '';
    const accepted = await api.post(
      '/v1/imports',
      { transactions: [movement(accountId), movement(accountId, { dc: 'Debit' })] },
      ImportAnswer,
    );
    await followImport(api, accepted.import, { onState: () => {}, signal: new AbortController().signal });
    const { database } = service.runtime;
    const delivered = async () => {
      const [row] = await database.query<{ n: string }[]>(
        "SELECT COUNT(*) AS n FROM deliveries WHERE webhook_id = ? AND status = 'delivered'",
        [webhookId],
      );
      return Number(row?.n) === 2;
    };
    await until('both delivered', delivered);
    expect(receiver.at('/again')).toHaveLength(2);

    const replay = async (...args: string[]) => {
      const answer = documentOf(
        await runHere(['replay', '--webhook', webhookId, '--json', ...args], environment),
      );
      return (answer as { replay: { id: number } }).replay;
    };
    const since = ['--since', '2020-01-01'];
    expect(await replay('--since', '2099-01-01', '--status', 'delivered')).toMatchObject({ matched: 0 });
    expect(await replay(...since)).toMatchObject({ status: ['failed'], matched: 0 });
    expect(await replay('--since', '2020-01-01 00:00:00+03', '--status', 'delivered')).toEqual({
      id: expect.any(Number),
      webhook_id: Number(webhookId),
      status: ['delivered'],
      matched: 2,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });

    const dry = await replay('--since', '2020-01-01', '--status', 'delivered', '--dry-run');
    expect(dry).toMatchObject({ id: null, status: ['delivered'], created_at: null });

    const shown = documentOf(
      await runHere(['replays', 'list', '--webhook', webhookId, '--json'], environment),
    ) as { replays: { id: number; state: string; total: number }[] };
    expect(shown.replays.map(({ total }) => total)).toEqual([2, 0, 0]);
    const posts = await until(
      'both sent again',
      () => receiver.at('/again').length >= 4 && receiver.at('/again'),
    );
    const ids = posts.map(({ headers }) => headers['webhook-id']);
    expect(ids.slice(2).sort()).toEqual(ids.slice(0, 2).sort());
    await until('both delivered again', delivered);
    const [newest] = shown.replays;
    const of = (...args: string[]) => runHere(['replays', ...args, String(newest?.id)], environment);
    expect((await of('show')).stdout).toMatch(/^state\s+done\n.*^total\s+2\nsent\s+2\nleft\s+0\n/ms);
    expect(reasonOf(await of('cancel'))).toBe(
      'error: The replay is done. Nothing of it is pending any more.',
    );

    await database.query("UPDATE webhooks SET status = 'paused' WHERE id = ?", [webhookId]);
    const waiting = String((await replay(...since, '--status', 'delivered')).id);
    const webhookNow = await runHere(['webhooks', 'show', webhookId], environment);
    expect(webhookNow.stdout).toMatch(/^pending\s+0, and 2 of a replay still to come$/m);
    expect((await runHere(['status'], environment)).stdout).toMatch(/^of replays, still to come\s+2$/m);
    const cancelled = await runHere(['replays', 'cancel', waiting], environment);
    expect(cancelled.stdout).toBe(`Replay ${waiting} is cancelled. 0 were sent, 2 were not.\n`);
    await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [webhookId]);
    const refused = await runHere(['replay', '--webhook', webhookId, ...since], environment);
    expect(reasonOf(refused)).toMatch(/^error: The webhook is disabled\. /);
  });
});
