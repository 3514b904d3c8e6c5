import { startApi } from './api/server.ts';
import type { Config } from './config.ts';
import { startDeliveryWorker } from './delivering/worker.ts';
import { startImporterWorker } from './importing/worker.ts';
import type { Log } from './log.ts';
import { startMaintenanceWorker } from './maintenance/worker.ts';
import { findServers, openRuntime, type Role, type Runtime } from './runtime.ts';

export const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
export type RoleName = (typeof ROLES)[number];

export interface Service {
  /** Where the API answers; empty when it is not among the roles. */
  url: string;
  runtime: Runtime;
  /** Finishes or gives back what is in hand, then closes everything, embedded servers last. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the given roles in this process, on the configured servers or embedded ones.
 * @throws when a server cannot be had or reached within a minute, or the port is taken; nothing is left running then.
 */
export async function startService({
  config,
  roles,
  log,
  announce,
  prefix,
}: {
  config: Config;
  roles: readonly RoleName[];
  log: Log;
  /** Takes one-line messages for a person. */
  announce: (line: string) => void;
  /** What BullMQ's keys start with, for several installations on one Redis. */
  prefix?: string;
}): Promise<Service> {
  const servers = await findServers(config, announce);
  // In the order of starting; stopped in the opposite one, so that what others work with goes last.
  const started: (() => Promise<void>)[] = [() => servers.stop()];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      for (const end of started.reverse()) await end();
    })();
    return stopping;
  };

  try {
    const migrations = config.databaseUrl === undefined ? 'run' : 'expect';
    const runtime = await openRuntime(config, servers, {
      log,
      announce,
      migrations,
      ...(prefix === undefined ? {} : { prefix }),
    });
    started.push(() => runtime.close());
    const running: Role[] = [];
    started.push(async () => {
      await Promise.all(running.map((role) => role.stop()));
    });
    if (roles.includes('importer')) running.push(startImporterWorker(runtime));
    if (roles.includes('delivery')) running.push(startDeliveryWorker(runtime));
    if (roles.includes('maintenance')) running.push(startMaintenanceWorker(runtime));
    let url = '';
    if (roles.includes('api')) {
      const api = await startApi(runtime);
      running.push(api);
      url = api.url;
    }
    return { url, runtime, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
