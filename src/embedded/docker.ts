import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pRetry from 'p-retry';
import { abandonStart } from '../stopping.ts';
import type { RunningServer } from './child.ts';
import { lastLines, runCommand } from './command.ts';
import { pingMysql } from './mysql.ts';
import { writePrivate } from './private-file.ts';
import { pingRedis } from './redis.ts';

const SECOND = 1_000;

type Service = 'mysql' | 'redis';

/** Whether there is a Docker engine to talk to (within 5 s), and the compose plugin to do it with. */
export async function dockerAnswers(path?: string): Promise<boolean> {
  const [engine, compose] = await Promise.all([
    runCommand('docker', ['info'], { timeout: 5 * SECOND, path }),
    runCommand('docker', ['compose', 'version'], { timeout: 5 * SECOND, path }),
  ]);
  return engine.ok && compose.ok;
}

/**
 * Runs one service of the project's docker-compose.yml for this DATA_DIR alone, on a free port of 127.0.0.1. Docker
 * keeps it running; its data is in a volume and survives `stop`.
 * @param signal gives up waiting for its answer.
 * @throws {Error} with the last lines of what docker compose said. It has been removed then.
 */
export async function runInDocker(
  dataDir: string,
  service: Service,
  passwords: Record<Service, string>,
  signal?: AbortSignal,
): Promise<RunningServer> {
  const environment = join(dataDir, 'docker.env');
  writePrivate(environment, renderEnvironment(passwords));
  const project = composeProject(dataDir, passwords.mysql);

  async function compose(...args: string[]): Promise<string> {
    const result = await runCommand('/bin/sh', composeCommand(environment, project, args));
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

/** A volume holds the password it was made with: a DATA_DIR that was emptied begins with empty volumes. */
export function composeProject(dataDir: string, password: string): string {
  return `ledgerbell-${createHash('sha256').update(`${dataDir}\n${password}`).digest('hex').slice(0, 12)}`;
}

/**
 * Compose fills in the variables of the whole file before it looks at which services are wanted, so those of the
 * other services must have some value.
 */
export function renderEnvironment(passwords: Record<Service, string>): string {
  return [
    `MYSQL_PASSWORD=${passwords.mysql}`,
    `MYSQL_ROOT_PASSWORD=${passwords.mysql}`,
    `REDIS_PASSWORD=${passwords.redis}`,
    'SECRET_KEY=of-no-use-to-mysql-and-redis',
    '',
  ].join('\n');
}

/** The arguments for /bin/sh. Read in by the shell, the passwords are on no command line and win over the user's own variables. */
export function composeCommand(environment: string, project: string, args: readonly string[]): string[] {
  const script = 'set -a; . "$0"; exec docker compose "$@"';
  return ['-c', script, environment, '--file', composeFile(), '--project-name', project, ...args];
}

/** docker-compose.yml is at the root of the project, two folders above the source and three above what is compiled. */
function composeFile(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'docker-compose.yml')) && directory !== dirname(directory)) {
    directory = dirname(directory);
  }
  return join(directory, 'docker-compose.yml');
}
