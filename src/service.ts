import { once } from 'node:events';
import { startApi } from './api/server.ts';
import { createOneTimeAdmin } from './console/access.ts';
import { startHeartbeat } from './console/heartbeat.ts';
import { startOps } from './console/server.ts';
import { startDeliveryWorker } from './deliveries/worker.ts';
import { loadProfiles } from './imports/load-profiles.ts';
import { createThreadedFormats } from './imports/parser-threads.ts';
import { startImporterWorker } from './imports/worker.ts';
import { type Config, ConfigError, readConfig, requireServers } from './platform/config/config.ts';
import { loadOrCreateSecretKey } from './platform/embedded/private-file.ts';
import { startEmbedded } from './platform/embedded/servers.ts';
import { createLog, type Log } from './platform/log.ts';
import { ROLES, type RoleName } from './platform/roles.ts';
import { openRuntime, type Role, type Runtime, type Servers } from './platform/runtime.ts';
import { abandonStart, type Stop, stopInReverse, stopTogether } from './platform/stopping.ts';
import { startTracing } from './platform/tracing/start-tracing.ts';
import { collectGarbageEarlier, compileEarlier } from './platform/v8-settings.ts';
import { startCollectorWorker } from './sources/worker.ts';
import { startMaintenance } from './upkeep/worker.ts';
import { setOperatorWebhook } from './webhooks/operator-webhook.ts';

const SECOND = 1_000;

/** A supervisor kills a process that takes longer, so it exits by itself. Unfinished work is taken over as after a crash. */
const SHUTDOWN_LIMIT = 10 * SECOND;

export interface Service {
  /** URL of the API. Empty when this process does not have the role `api`. */
  url: string;
  /** URL of the operators' listener, which every process has. */
  opsUrl: string;
  runtime: Runtime;
  /**
   * Finishes or gives back all work in progress, then closes everything, embedded servers last. May be called more than once.
   * If something cannot be stopped, everything else still is, and the promise then rejects with that error.
   */
  stop(): Promise<void>;
}

/**
 * Starts the given roles in this process, on the configured servers or embedded ones.
 * @param signal aborts the start, which then rejects with the signal's reason.
 * @throws {ConfigError} when a profile in PROFILES_DIR is wrong.
 * @throws when a server cannot be started or reached within a minute, or PORT or OPS_PORT is taken. Nothing is left running then.
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
  /** Receives one-line messages for a person. */
  announce: (line: string) => void;
  /** Prefix of BullMQ's keys, so that several installations can share one Redis. */
  prefix?: string;
  signal?: AbortSignal;
}): Promise<Service> {
  // In the order of starting. They are stopped in reverse, so that nothing loses what it depends on.
  const started: Stop[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopInReverse(started);
    return stopping;
  };

  try {
    // A wrong profile is an error now, and not at the first file that needs it.
    const formats = createThreadedFormats(loadProfiles(config.profilesDir));
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
    runtime.metrics.setRoles(roles);
    const running: Role[] = [];
    started.push(() => stopTogether(running.map((role) => () => role.stop())));
    if (roles.includes('importer')) {
      running.push(startImporterWorker(runtime, formats), startCollectorWorker(runtime));
    }
    if (roles.includes('delivery')) running.push(startDeliveryWorker(runtime));
    if (roles.includes('maintenance')) {
      await setOperatorWebhook(runtime);
      running.push(startMaintenance(runtime));
    }
    let url = '';
    if (roles.includes('api')) {
      const api = await startApi(runtime, formats);
      running.push(api);
      url = api.url;
    }
    // After the API, so that it never takes the API's port.
    const ops = await startOps(runtime);
    running.push(ops);
    running.push(await startHeartbeat(runtime, roles));
    signal?.throwIfAborted();
    return { url, opsUrl: ops.url, runtime, stop };
  } catch (error) {
    return await abandonStart(error, stop);
  }
}

/** Returns the configured servers, and starts embedded ones in place of those that are not configured. */
async function findServers(
  config: Config,
  announce: (line: string) => void,
  signal?: AbortSignal,
): Promise<Servers> {
  requireServers(config, ['databaseUrl', 'redisUrl']);
  const { databaseUrl, redisUrl, dataDir, install } = config;
  const embedded = await startEmbedded({
    dataDir,
    mysql: databaseUrl === undefined,
    redis: redisUrl === undefined,
    install,
    announce,
    signal,
  });
  try {
    return {
      databaseUrl: required(databaseUrl ?? embedded.databaseUrl),
      redisUrl: required(redisUrl ?? embedded.redisUrl),
      secretKey: config.secretKey ?? (await loadOrCreateSecretKey(dataDir)),
      stop: embedded.stop,
    };
  } catch (error) {
    return await abandonStart(error, embedded.stop);
  }
}

function required(url: string | undefined): string {
  if (url === undefined) throw new Error('an embedded server started without telling where it is');
  return url;
}

/**
 * Runs roles in this process until SIGTERM or SIGINT, which also abort a start in progress. Everything is then shut down within
 * 10 s; embedded servers that take longer are killed. If the start or the shutdown fails, the process exits with code 1 and
 * writes the reason to stderr.
 * @param chosen the roles to run. Without it the process has all roles.
 */
export async function runProcess(chosen?: readonly RoleName[]): Promise<never> {
  collectGarbageEarlier();
  compileEarlier();
  const announce = (line: string) => process.stderr.write(`${line}\n`);
  const ending = new AbortController();
  const { signal } = ending;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (signal.aborted) return;
      announce(`${name}: finishing what is in hand …`);
      setTimeout(() => process.exit(1), SHUTDOWN_LIMIT);
      ending.abort();
    });
  }

  try {
    const service = await startConfigured(chosen, announce, signal);
    if (!signal.aborted) await once(signal, 'abort');
    await service.stop();
  } catch (error) {
    if (error !== signal.reason) {
      announce(explain(error, signal.aborted ? 'cannot be shut down cleanly' : 'cannot start'));
      process.exit(1);
    }
  }
  process.exit(0);
}

async function startConfigured(
  chosen: readonly RoleName[] | undefined,
  announce: (line: string) => void,
  signal: AbortSignal,
): Promise<Service> {
  const read = readConfig(undefined, { separateRoles: chosen !== undefined });
  const config = { ...read, admin: read.admin ?? createOneTimeAdmin() };
  const roles = chosen ?? ROLES;
  const service = await startService({ config, roles, log: createLog(config.logLevel), announce, signal });
  process.stdout.write(`${describe(roles, service, config).join('\n')}\n`);
  return service;
}

function explain(error: unknown, what: string): string {
  if (error instanceof ConfigError) return error.message;
  return `Ledgerbell ${what}: ${error instanceof Error ? error.message : String(error)}`;
}

/** Lines for a person: the roles that run, the URLs of the API and the console, and a password that was made for the console. */
function describe(
  roles: readonly RoleName[],
  { url, opsUrl }: Service,
  { admin }: Pick<Config, 'admin'>,
): string[] {
  return [
    `Ledgerbell is running: ${roles.join(', ')}`,
    ...(url === '' ? [] : [`  API      ${url}/v1`, `  Docs     ${url}/docs`]),
    `  Console  ${opsUrl}/ops`,
    ...(admin?.isOneTime
      ? [
          `           Sign in as ${admin.user} with the password ${admin.password}`,
          '           It is for this run alone. Set ADMIN_USER and ADMIN_PASSWORD to choose your own.',
        ]
      : []),
  ];
}
