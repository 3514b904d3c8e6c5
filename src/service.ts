import { once } from 'node:events';
import { startApi } from './api/server.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { startDeliveryWorker } from './delivering/worker.ts';
import { loadOrCreateSecretKey } from './embedded/secret-key.ts';
import { startEmbedded } from './embedded/servers.ts';
import { startImporterWorker } from './importing/worker.ts';
import { createLog, type Log } from './log.ts';
import { startMaintenanceWorker } from './maintenance/worker.ts';
import { openRuntime, type Role, type Runtime, type Servers } from './runtime.ts';
import { abandonStart, type Stop, stopInReverse, stopTogether } from './stopping.ts';

const SECOND = 1_000;

/** A supervisor kills what has not ended by then; what was in hand is then taken over like after any crash. */
const SHUTDOWN_LIMIT = 10 * SECOND;

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

/** The configured servers, or embedded ones for those that are not configured. */
async function findServers(
  config: Config,
  announce: (line: string) => void,
  signal?: AbortSignal,
): Promise<Servers> {
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
 * Runs roles as this process until SIGTERM or SIGINT, which also end a start that is under way. Everything is then shut down
 * within 10 s; embedded servers that take longer are killed. A start or a shutdown that fails ends the process with code 1,
 * and says why on stderr.
 */
export async function runProcess(roles: readonly RoleName[]): Promise<never> {
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
    const service = await startConfigured(roles, announce, signal);
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
  roles: readonly RoleName[],
  announce: (line: string) => void,
  signal: AbortSignal,
): Promise<Service> {
  const config = readConfig();
  const service = await startService({ config, roles, log: createLog(config.logLevel), announce, signal });
  process.stdout.write(`${describe(roles, service.url).join('\n')}\n`);
  return service;
}

function explain(error: unknown, what: string): string {
  if (error instanceof ConfigError) return error.message;
  return `Ledgerbell ${what}: ${error instanceof Error ? error.message : String(error)}`;
}

/** What has started and where it answers, for a person. */
function describe(roles: readonly RoleName[], url: string): string[] {
  const running = `Ledgerbell is running: ${roles.join(', ')}`;
  if (url === '') return [running];
  return [running, `  API      ${url}/v1`, `  Docs     ${url}/docs`, `  Console  ${url}/ops`];
}
