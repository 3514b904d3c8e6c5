import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Servers } from '../database/runtime.ts';
import { type Config, requireServers } from '../platform/config.ts';
import { abandonStart, stopInReverse, stopTogether } from '../platform/stopping.ts';
import { chooseSocket, endOrphan, type RunningServer, runServer } from './embedded/child.ts';
import { runInDocker } from './embedded/docker.ts';
import { prepareMysql } from './embedded/mysql.ts';
import { type Provision, provide } from './embedded/provision.ts';
import { prepareRedis } from './embedded/redis.ts';
import { loadOrCreateSecretKey, makePrivateDirectory, readOrCreateSecret } from './private-file.ts';
import { claim, ownerRecord, publish, release, type ServerUrls } from './running-servers.ts';

export interface EmbeddedServers extends ServerUrls {
  /** Ends the servers (SIGTERM, and SIGKILL after 20 s) and releases DATA_DIR. May be called again. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  /** Absolute, or relative to the working directory. Created if it is missing. */
  dataDir: string;
  mysql: boolean;
  redis: boolean;
  /** Whether missing servers may be installed with apt-get (EMBEDDED_INSTALL). */
  install: 'auto' | 'never';
  /** Called with one-line messages for a person. */
  announce: (line: string) => void;
  /** Aborts the start. Servers that have been started are stopped, and the start rejects with the reason of this signal. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts the wanted servers for this process only, and keeps them running. Resolves when they answer. They listen on Unix sockets
 * and keep their data in DATA_DIR. In Docker, they listen on free ports of 127.0.0.1 and keep their data in volumes. Their
 * passwords are in DATA_DIR. First ends servers that a killed owner of DATA_DIR left running.
 * @throws {DataDirInUseError} when another running process owns this DATA_DIR.
 * @throws {Error} when a server is missing and cannot be provided, or does not start. The message says what to type, or contains
 * the end of the server's log. Nothing is left running then.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServers> {
  if (!options.mysql && !options.redis) {
    return { stop: async () => {} };
  }
  const dataDir = resolve(options.dataDir);
  makePrivateDirectory(dataDir);
  const record = ownerRecord(dataDir);
  claim(record);
  const running: RunningServer[] = [];
  let stopped: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    // DATA_DIR is released last, when the servers have ended.
    await stopInReverse([() => release(record), () => stopTogether(running.map(({ stop }) => stop))]);
  }

  try {
    await Promise.all([endOrphan(dataDir, 'mysql'), endOrphan(dataDir, 'redis')]);
    options.signal?.throwIfAborted();
    const starts = startEach(dataDir, await provide(options), options);
    const results = await Promise.allSettled(
      starts.map(async (start) => {
        running.push(await start);
      }),
    );
    rethrowFirst(results);
    options.signal?.throwIfAborted();
    const urls = urlsOf(running);
    publish(record, urls);
    return {
      ...urls,
      stop() {
        stopped ??= stopAll();
        return stopped;
      },
    };
  } catch (error) {
    return await abandonStart(error, stopAll);
  }
}

function startEach(
  dataDir: string,
  { mysql, redis }: Provision,
  { announce, signal }: EmbeddedOptions,
): Promise<RunningServer>[] {
  const passwords = { mysql: keptPassword(dataDir, 'mysql'), redis: keptPassword(dataDir, 'redis') };

  async function startMysql(binaries: Exclude<Provision['mysql'], undefined>): Promise<RunningServer> {
    if (binaries === 'docker') {
      return runInDocker(dataDir, 'mysql', passwords, signal);
    }
    const socket = chooseSocket(dataDir, 'mysql');
    const server = await prepareMysql(dataDir, { binaries, socket, password: passwords.mysql, signal });
    return runServer(dataDir, server, { announce, signal });
  }

  async function startRedis(binary: string): Promise<RunningServer> {
    if (binary === 'docker') {
      return runInDocker(dataDir, 'redis', passwords, signal);
    }
    const socket = chooseSocket(dataDir, 'redis');
    return runServer(dataDir, prepareRedis(dataDir, { binary, socket, password: passwords.redis }), {
      announce,
      signal,
    });
  }

  return [
    ...(mysql === undefined ? [] : [startMysql(mysql)]),
    ...(redis === undefined ? [] : [startRedis(redis)]),
  ];
}

/** The password is hexadecimal, so that it needs no escaping in URLs, SQL and configuration files. */
function keptPassword(dataDir: string, server: 'mysql' | 'redis'): string {
  return readOrCreateSecret(join(dataDir, `${server}.password`), () => randomBytes(24).toString('hex'));
}

function urlsOf(running: readonly RunningServer[]): ServerUrls {
  const urlOf = (protocol: string) => running.find(({ url }) => url.startsWith(protocol))?.url;
  return { databaseUrl: urlOf('mysql:'), redisUrl: urlOf('redis:') };
}

function rethrowFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected') {
      throw result.reason;
    }
  }
}

/**
 * Deletes everything in a DATA_DIR. First ends servers that a killed owner left running. Volumes of Docker stay, but are not used
 * again.
 * @throws {DataDirInUseError} when a running process owns this DATA_DIR. Nothing is deleted then.
 */
export async function clearDataDir(dataDir: string): Promise<void> {
  const directory = resolve(dataDir);
  makePrivateDirectory(directory);
  const record = ownerRecord(directory);
  claim(record);
  try {
    await Promise.all([endOrphan(directory, 'mysql'), endOrphan(directory, 'redis')]);
    const names = (await readdir(directory)).filter((name) => name !== basename(record));
    await Promise.all(names.map((name) => rm(join(directory, name), { recursive: true, force: true })));
  } finally {
    release(record);
  }
}

/** Returns the configured servers, and starts embedded servers for those that are not configured. */
export async function findServers(
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
