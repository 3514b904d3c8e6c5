import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createOperatorApi } from '../api/within-process.ts';
import { listCustomers } from '../customers/customers.ts';
import { watchHealth } from '../database/health.ts';
import type { Runtime } from '../database/runtime.ts';
import { createDnsWatch } from '../platform/dns-watch.ts';
import { createLog } from '../platform/log.ts';
import { createMetrics } from '../platform/metrics.ts';
import type { Queues } from '../platform/queues.ts';
import type { RedisClient } from '../platform/redis.ts';
import { type Api, createClient, headersOf, type Transport } from './api-client.ts';
import type { CommandContext } from './context.ts';
import { type Installation, withInstallation } from './open-service.ts';
import { currentOperator, findCustomerId, type Subject } from './owner.ts';
import { connectToService, withoutRedis, withQueues } from './service-redis.ts';

/** Calls the API for the operator within this process, without an API key. */

/** The customer and the object of an operator's command. */
export interface Operation {
  /** undefined: the owner of the subject. */
  customerId: string | undefined;
  subject: Subject | undefined;
  /** Whether the running service must be notified of the change. */
  wakes: boolean;
}

/**
 * Runs `work` with a client of the API that acts for a customer, directly on the database. The API's own routes do the work within
 * this process, so its rules apply and its answers are the same. This needs no API key and no running service.
 * @throws {Failure} when there is no such customer or subject.
 */
export function withOperatorApi<T>(
  context: CommandContext,
  { customerId, subject, wakes }: Operation,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  return withInstallation(context, async (installation) => {
    const owner = await findCustomerId(installation.database, customerId, subject);
    const redis = wakes
      ? await connectToService(installation.redisUrl, context.terminal.note)
      : withoutRedis();
    return withQueues(redis, installation, (queues) =>
      work(createClient('', withinProcess(createRuntime(context, installation, queues, redis), owner))),
    );
  });
}

function createRuntime(
  context: CommandContext,
  { database, secrets, redisPrefix: prefix }: Installation,
  queues: Queues,
  redis: RedisClient,
): Runtime {
  const log = createLog('silent');
  return {
    config: context.readConfig(),
    database,
    secrets,
    queues,
    redis,
    connectWorker: withoutRedis,
    prefix,
    claimPrefix: async () => null,
    dns: createDnsWatch(),
    health: watchHealth({ database, queues, log }),
    log,
    metrics: createMetrics(),
    tracing: undefined,
  };
}

/** Like `withOperatorApi`, but with a client for each customer, the oldest first. Nothing may be changed. */
export function withEachCustomer<T>(
  context: CommandContext,
  work: (customers: readonly { id: string; name: string; api: Api }[]) => Promise<T>,
): Promise<T> {
  return withInstallation(context, async (installation) =>
    withQueues(withoutRedis(), installation, async (queues) => {
      const runtime = createRuntime(context, installation, queues, withoutRedis());
      const customers = await listCustomers(installation.database);
      return work(
        customers.map(({ id, name }) => ({ id, name, api: createClient('', withinProcess(runtime, id)) })),
      );
    }),
  );
}

/** Sends requests to the API's routes within this process. */
function withinProcess(runtime: Runtime, customerId: string): Transport {
  const request = createOperatorApi(runtime);
  const operator = currentOperator();
  return async ({ method, path, upload, signal }) => {
    const response = await request({
      customerId,
      operator,
      method,
      path,
      headers: headersOf(upload),
      ...(signal === undefined ? {} : { signal }),
      ...(upload === undefined ? {} : { body: upload.body }),
    });
    const { status, headers } = response;
    return {
      status,
      type: headers.get('content-type') ?? undefined,
      link: headers.get('link') ?? undefined,
      body: response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as ReadableStream),
    };
  };
}
