import type { DataSource } from 'typeorm';
import { createBatcher } from '../platform/batcher.ts';
import { isConnectionError } from '../platform/database/errors.ts';
import type { SecretBox } from '../platform/database/secret-box.ts';
import { tryTransaction } from '../platform/database/transaction.ts';
import { expandReplay } from './expand-replay.ts';
import { extend, extendDeliveries } from './extended-movements.ts';
import { type LeaseRequest, renewLeases, takeLeases } from './lease.ts';
import { openMovementLog } from './movement-log.ts';
import type { EnginePorts } from './ports.ts';
import { recordResults } from './record-results.ts';
import { readRetries } from './retries.ts';
import { openSettings } from './settings.ts';
import { readStates } from './webhook-state.ts';
import { disableWebhook, quarantineWebhook } from './webhook-status.ts';

type MysqlPorts = Pick<EnginePorts, 'movementLog' | 'retries' | 'webhooks' | 'results'>;

/** The ports of the delivery engine that lead to MySQL. */
export function createMysqlPorts(database: DataSource, secrets: SecretBox): MysqlPorts {
  // One webhook that cannot be read must not fail the others.
  const afterFailure = (error: unknown) => (isConnectionError(error) ? 'fail' : 'alone');
  const log = openMovementLog(database);
  return {
    movementLog: {
      async read(request) {
        const read = await log.read(request);
        return request.isExtended ? { ...read, movements: await extend(database, read.movements) } : read;
      },
    },
    retries: {
      async read(webhookId, options) {
        const read = await readRetries(database, webhookId, options);
        return options.isExtended
          ? { ...read, deliveries: await extendDeliveries(database, read.deliveries) }
          : read;
      },
      expandReplay: (webhookId) => expandReplay(database, webhookId),
    },
    webhooks: {
      readState: createBatcher((ids: readonly string[]) => readStates(database, ids), { afterFailure }),
      openSettings: (settings) => openSettings(settings, secrets),
      takeLease: createBatcher((requests: readonly LeaseRequest[]) => takeLeases(database, requests), {
        afterFailure,
      }),
      renewLeases: (leases) => tryTransaction(database, (sql) => renewLeases(sql, leases)),
      disable: (webhook, reason) => disableWebhook(database, webhook, reason),
      quarantine: (webhook, cause) => quarantineWebhook(database, webhook, cause),
    },
    results: { record: (records) => recordResults(database, records) },
  };
}
