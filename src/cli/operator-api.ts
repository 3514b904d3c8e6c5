import { Readable } from 'node:stream';
import { createAddressGuard } from '../addresses/address-guard.ts';
import { createApp } from '../api/app.ts';
import { type ApiEnv, createMiddleware } from '../http/environment.ts';
import { SCOPES } from '../http/scopes.ts';
import { createStatementFormats } from '../importing/statements/formats.ts';
import { createLog } from '../log.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { openQueues } from '../queues/queues.ts';
import { DEFAULT_PREFIX } from '../runtime.ts';
import { type Api, createClient, headersOf, type Transport } from './api-client.ts';
import type { CommandContext } from './context.ts';
import { type Installation, withInstallation } from './open-service.ts';
import { findCustomerId, type Subject } from './owner.ts';
import { reachRedis, withoutRedis } from './redis-access.ts';

/** What an operator's command is about. */
export interface Operation {
  /** Undefined: the owner of the subject. */
  customerId: string | undefined;
  subject: Subject | undefined;
  /** Whether the running service has to learn of what is done. */
  wakes: boolean;
}

/**
 * Runs `work` with a client of the API that acts for a customer, directly on the database. The API's own routes do the work within
 * this process, so that its rules hold and its answers are the same. No API key is needed, and no service has to run.
 * @throws {Failure} when there is no such customer or subject.
 */
export function withOperatorApi<T>(
  context: CommandContext,
  { customerId, subject, wakes }: Operation,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  return withInstallation(context, async (installation) => {
    const { database, secrets } = installation;
    const owner = await findCustomerId(database, customerId, subject);
    const redis = wakes ? await connectToService(installation, context.terminal.note) : withoutRedis();
    const queues = openQueues(redis, DEFAULT_PREFIX);
    try {
      const app = createApp(
        {
          config: { ...context.readConfig(), rateLimit: 0 },
          database,
          secrets,
          queues,
          redis,
          connectWorker: withoutRedis,
          prefix: DEFAULT_PREFIX,
          log: createLog('silent'),
          metrics: createMetrics(),
        },
        createAddressGuard({ allow: context.readConfig().allowPrivateEndpoints }),
        // Files are only imported with an API key, so none is read here.
        { formats: createStatementFormats([]), identify: actFor(owner) },
      );
      return await work(createClient('', withinProcess(app)));
    } finally {
      redis.disconnect();
      await queues.close().catch(() => {});
    }
  });
}

async function connectToService({ redisUrl }: Installation, note: (line: string) => void) {
  if (redisUrl === undefined) {
    note('No service is running: this takes effect once one is started.');
    return withoutRedis();
  }
  const redis = await reachRedis(redisUrl);
  if (redis === null)
    note('Redis cannot be reached: the service finds this by itself, within 10 s of its return.');
  return redis ?? withoutRedis();
}

/** Operators may do what a key for all accounts with every scope may do. They have no API key: no key has the id 0. */
const actFor = (customerId: string) =>
  createMiddleware(async (c, next) => {
    c.set('caller', { customerId, apiKeyId: '0', accountIds: 'all', scopes: SCOPES });
    c.set('requireKey', async () => {});
    await next();
  });

/** Routes read the body from Node's request, which is given to them here. */
function withinProcess(app: ReturnType<typeof createApp>): Transport {
  return async ({ method, path, upload }) => {
    const body = upload === undefined ? [] : Buffer.isBuffer(upload.body) ? [upload.body] : upload.body;
    const incoming = Object.assign(Readable.from(body), { socket: {}, headers: {} });
    const bindings = { incoming, outgoing: {} } as unknown as ApiEnv['Bindings'];
    const response = await app.request(path, { method, headers: headersOf(upload) }, bindings);
    return {
      status: response.status,
      text: await response.text(),
      link: response.headers.get('link') ?? undefined,
    };
  };
}
