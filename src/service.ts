import type { Profile } from '../packages/statements/src/profile.ts';
import { startApi } from './api/server.ts';
import { publishToken, withLocalToken } from './console/operators-api.ts';
import { startOps } from './console/server.ts';
import { startHeartbeat } from './database/heartbeat.ts';
import { openRuntime, type Role, type Runtime } from './database/runtime.ts';
import { startDeliveryWorker } from './delivery/worker.ts';
import { loadProfiles } from './intake/load-profiles.ts';
import { createThreadedReader } from './intake/parser-threads.ts';
import { startImporterWorker } from './intake/worker.ts';
import type { Config, RoleName } from './platform/config.ts';
import type { Log } from './platform/log.ts';
import { abandonStart, type Stop, stopOnce, stopTogether } from './platform/stopping.ts';
import { startTracing } from './platform/tracing.ts';
import { findServers } from './servers/embedded.ts';
import { startCollectorWorker } from './sources/worker.ts';
import { startMaintenance } from './upkeep/worker.ts';
import { setOperatorWebhook } from './webhooks/operator-webhook.ts';

export interface Service {
  /** URL of the API. Empty when this process does not have the role `api`. */
  url: string;
  /** URL of the operators' listener, which every process has. */
  opsUrl: string;
  runtime: Runtime;
  /**
   * Finishes or gives back all work in progress, then closes everything, embedded servers last. May be called more than once.
   * If something cannot be stopped, everything else is still stopped. The promise then rejects with the error.
   */
  stop(): Promise<void>;
}

/**
 * Starts the given roles in this process, on the configured servers or on embedded servers.
 * @param signal aborts the start, which then rejects with the signal's reason.
 * @throws {ConfigError} when a profile in PROFILES_DIR is wrong.
 * @throws when a server cannot be started or reached within a minute, or PORT or OPS_PORT is taken. Then nothing is left running.
 */
export async function startService({
  config: given,
  roles,
  log,
  announce,
  prefix,
  signal,
}: {
  config: Config;
  roles: readonly RoleName[];
  log: Log;
  /** Receives one-line messages for a person. */
  announce: (line: string) => void;
  /** Prefix of BullMQ's keys, so that several installations can share one Redis. */
  prefix?: string;
  signal?: AbortSignal;
}): Promise<Service> {
  // In the order of the start. They are stopped in reverse order, so that nothing loses its dependencies.
  const started: Stop[] = [];
  const stop = stopOnce(started);
  const config = withLocalToken(given);

  try {
    // Loaded now, so that a wrong profile is an error now and not when a file first needs it.
    const profiles = loadProfiles(config.profilesDir);
    const servers = await findServers(config, announce, signal);
    started.push(() => servers.stop());
    const tracing = await startTracing(config.traces, { roles, log });
    started.push(() => tracing?.stop());
    const migrations = config.databaseUrl === undefined ? 'run' : 'expect';
    const runtime = await openRuntime(config, servers, {
      log,
      announce,
      migrations,
      signal,
      tracing,
      ...(prefix === undefined ? {} : { prefix }),
    });
    started.push(() => runtime.close());
    const running: Stop[] = [];
    started.push(() => stopTogether(running));
    const { url, operatorsUrl, stop: stopRoles } = await startRoles(runtime, roles, profiles);
    running.push(stopRoles);
    // Started after the API, so that it never takes the API's port.
    const ops = await startOps(runtime, () => operatorsUrl || undefined);
    running.push(() => ops.stop());
    if (operatorsUrl !== '') running.push(publishToken(runtime, ops.commandsUrl, announce));
    const heartbeat = await startHeartbeat(runtime, roles);
    running.push(() => heartbeat.stop());
    signal?.throwIfAborted();
    return { url, opsUrl: ops.url, runtime, stop };
  } catch (error) {
    return await abandonStart(error, stop);
  }
}

/** Roles that run in this process. */
export interface RunningRoles {
  /** URL of the API. Empty without the role `api`. */
  url: string;
  /** Where this process answers operators. Empty without the role `api`. */
  operatorsUrl: string;
  /** Leads clients of the API to other processes for a second. Does nothing without the role `api`. */
  handOver(): Promise<void>;
  /** Resolves when all work in progress is finished or given back. */
  stop(): Promise<void>;
}

/**
 * Starts roles in this process.
 * @throws {PortTakenError} when PORT is taken. Then nothing is left running.
 */
export async function startRoles(
  runtime: Runtime,
  roles: readonly RoleName[],
  profiles: readonly Profile[],
): Promise<RunningRoles> {
  const { log, metrics } = runtime;
  metrics.setRoles(roles);
  // One for each role, so that dry runs do not wait for imports.
  const createReader = () =>
    createThreadedReader(profiles, {
      onDefect(err) {
        metrics.imports.parserDefect();
        log.error({ err }, 'a statement file met a defect of its parser, and cannot be read');
      },
    });
  const running: Role[] = [];
  const stop = () => stopTogether(running.map((role) => () => role.stop()));
  try {
    if (roles.includes('importer')) {
      running.push(startImporterWorker(runtime, createReader()), startCollectorWorker(runtime));
    }
    if (roles.includes('delivery')) running.push(startDeliveryWorker(runtime));
    if (roles.includes('maintenance')) {
      await setOperatorWebhook(runtime);
      running.push(startMaintenance(runtime));
    }
    if (!roles.includes('api')) return { url: '', operatorsUrl: '', handOver: async () => {}, stop };
    const api = await startApi(runtime, createReader());
    running.push(api);
    const { url, operatorsUrl, handOver } = api;
    return { url, operatorsUrl, handOver, stop };
  } catch (error) {
    return await abandonStart(error, stop);
  }
}
