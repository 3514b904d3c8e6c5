import { createHash } from 'node:crypto';
import { chmodSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pRetry from 'p-retry';
import { abandonStart } from '../../platform/stopping.ts';
import { makePrivateDirectory, writePrivate } from '../private-file.ts';
import type { RunningServer } from './child.ts';
import { lastLines, runCommand } from './command.ts';
import { pingMysql } from './mysql.ts';
import { pingRedis } from './redis.ts';

const SECOND = 1_000;

type Service = 'mysql' | 'redis';

/** Whether a Docker engine answers within 5 s and the compose plugin is installed. */
export async function dockerAnswers(path?: string): Promise<boolean> {
  const [engine, compose] = await Promise.all([
    runCommand('docker', ['info'], { timeout: 5 * SECOND, path }),
    runCommand('docker', ['compose', 'version'], { timeout: 5 * SECOND, path }),
  ]);
  return engine.ok && compose.ok;
}

/**
 * Runs one service of the project's docker-compose.yml for this DATA_DIR only, on a free port of 127.0.0.1. Docker keeps it
 * running. Its data is in a volume and survives `stop`.
 * @param signal aborts the wait for the service's answer.
 * @throws {Error} with the last lines of docker compose's output. The container has been removed by then.
 */
export async function runInDocker(
  dataDir: string,
  service: Service,
  passwords: Record<Service, string>,
  signal?: AbortSignal,
): Promise<RunningServer> {
  const secrets = writeSecrets(dataDir, passwords);
  const project = composeProject(dataDir, passwords.mysql);

  async function compose(...args: string[]): Promise<string> {
    const result = await runCommand('env', composeCommand(secrets, project, args));
    if (!result.ok) {
      throw new Error(
        `docker compose ${args.join(' ')} failed. Its last lines:\n${lastLines(result.output)}`,
      );
    }
    return result.stdout.trim();
  }

  const stop = async () => void (await compose('rm', '--stop', '--force', service));
  try {
    await compose('up', '--detach', '--wait', service);
    const { scheme, port, database, ping } = ACCESS[service];
    const address = await compose('port', service, String(port));
    const url = `${scheme}:${passwords[service]}@${address}/${database}`;
    await pRetry(() => ping(url), {
      retries: 60,
      factor: 1,
      minTimeout: SECOND,
      maxRetryTime: 60 * SECOND,
      ...(signal === undefined ? {} : { signal }),
    });
    return { url, stop };
  } catch (error) {
    return await abandonStart(error, stop);
  }
}

const ACCESS = {
  mysql: { scheme: 'mysql://root', port: 3306, database: 'ledgerbell', ping: pingMysql },
  redis: { scheme: 'redis://', port: 6379, database: '0', ping: pingRedis },
} as const;

/** Name of the compose project. A volume keeps the password it was created with, so an emptied DATA_DIR gets new volumes. */
export function composeProject(dataDir: string, password: string): string {
  return `ledgerbell-${createHash('sha256').update(`${dataDir}\n${password}`).digest('hex').slice(0, 12)}`;
}

/**
 * Writes the passwords of MySQL and Redis where docker-compose.yml reads its secrets. Only the folder is private. The files are
 * not, because the users in the containers have other ids than ours and must read them.
 * @returns the folder.
 */
export function writeSecrets(dataDir: string, passwords: Record<Service, string>): string {
  const directory = resolve(dataDir, 'docker');
  makePrivateDirectory(directory);
  const { mysql, redis } = passwords;
  const secrets = { mysql_password: mysql, mysql_root_password: mysql, redis_password: redis };
  for (const [name, value] of Object.entries(secrets)) {
    const file = join(directory, name);
    writePrivate(file, value);
    chmodSync(file, 0o444);
  }
  return directory;
}

/**
 * Arguments for `env`: the command, with variables of docker-compose.yml that replace the user's. MySQL and Redis publish their
 * ports.
 */
export const composeCommand = (secrets: string, project: string, args: readonly string[]): string[] => [
  `SECRETS_DIR=${secrets}`,
  'SERVERS_INTERNAL=false',
  // Empty, because containers would mount these folders, and a relative path of the user would be an unknown volume.
  'PROFILES_DIR=',
  'SOURCES_DIR=',
  ...['docker', 'compose', '--file', composeFile(), '--project-name', project, ...args],
];

/** docker-compose.yml is at the root of the project, two folders above the source and three above the compiled code. */
function composeFile(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'docker-compose.yml')) && directory !== dirname(directory)) {
    directory = dirname(directory);
  }
  return join(directory, 'docker-compose.yml');
}
