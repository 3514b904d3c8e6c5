import { startApi } from './api/server.ts';
import type { Config } from './config.ts';
import { startDeliveryWorker } from './delivering/worker.ts';
import { startImporterWorker } from './importing/worker.ts';
import type { Log } from './log.ts';
import { startMaintenanceWorker } from './maintenance/worker.ts';
import { findServers, openRuntime, type Role, type Runtime } from './runtime.ts';
import { abandonStart, type Stop, stopInReverse, stopTogether } from './stopping.ts';

export const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
export type RoleName = (typeof ROLES)[number];

export interface Service {
  /** Where the API answers; empty when it is not among the roles. */
  url: string;
  runtime: Runtime;
  /**
   * Finishes or gives back what is in hand, then closes everything, embedded servers last. May be called again. What cannot
   * be stopped keeps nothing else from being stopped; it rejects with that at the end.
   */
  stop(): Promise<void>;
}

/**
 * Starts the given roles in this process, on the configured servers or embedded ones.
 * @param signal gives up the start, which then rejects with its reason.
 * @throws when a server cannot be had or reached within a minute, or the port is taken; nothing is left running then.
 */
export async function startService({
  config,
  roles,
  log,
  announce,
  prefix,
  signal,
}: {
  config: Config;
  roles: readonly RoleName[];
  log: Log;
  /** Takes one-line messages for a person. */
  announce: (line: string) => void;
  /** What BullMQ's keys start with, for several installations on one Redis. */
  prefix?: string;
  signal?: AbortSignal;
}): Promise<Service> {
  // In the order of starting: what others work with is stopped last.
  const started: Stop[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopInReverse(started);
    return stopping;
  };

  try {
    const servers = await findServers(config, announce, signal);
    started.push(() => servers.stop());
    const migrations = config.databaseUrl === undefined ? 'run' : 'expect';
    const runtime = await openRuntime(config, servers, {
      log,
      announce,
      migrations,
      signal,
      ...(prefix === undefined ? {} : { prefix }),
    });
    started.push(() => runtime.close());
    const running: Role[] = [];
    started.push(() => stopTogether(running.map((role) => () => role.stop())));
    if (roles.includes('importer')) running.push(startImporterWorker(runtime));
    if (roles.includes('delivery')) running.push(startDeliveryWorker(runtime));
    if (roles.includes('maintenance')) running.push(startMaintenanceWorker(runtime));
    let url = '';
    if (roles.includes('api')) {
      const api = await startApi(runtime);
      running.push(api);
      url = api.url;
    }
    signal?.throwIfAborted();
    return { url, runtime, stop };
  } catch (error) {
    return await abandonStart(error, stop);
  }
}
