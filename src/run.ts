import { once } from 'node:events';
import { requireFreePort } from './http/listener.ts';
import {
  type Config,
  ConfigError,
  createOneTimeAdmin,
  ROLES,
  type RoleName,
  readConfig,
} from './platform/config.ts';
import { createLog } from './platform/log.ts';
import type { Service } from './service.ts';
import { startAll } from './supervisor/start-all.ts';
import type { SupervisedService } from './supervisor/supervisor.ts';
import { collectGarbageEarlier, compileEarlier } from './supervisor/v8-settings.ts';

const SECOND = 1_000;

/** systemd and others kill a process that takes longer to stop, so it exits by itself. Unfinished work is taken over as after a crash. */
const SHUTDOWN_LIMIT = 10 * SECOND;

/** The terminal sends a Ctrl-C to all processes, and `npm start` passes it on. A second signal within this time is therefore the same one. */
const SAME_SIGNAL = SECOND;

/** Options of the command line. */
export interface RunOptions {
  /** Runs only these roles, in this process. Default: all roles, in one process per core, four at most. */
  roles?: readonly RoleName[] | undefined;
  /** The value of `--processes`. */
  processes?: string | undefined;
}

type Announce = (line: string) => void;

/**
 * Runs the service until SIGTERM or SIGINT, which also abort a start in progress. Everything is then shut down within 10 s. Embedded
 * servers that take longer are killed. A second signal ends everything immediately. SIGHUP restarts the processes one by one. If the start
 * or the shutdown fails, or a process keeps ending while it starts, this process exits with code 1 and writes the reason to stderr.
 */
export async function runProcess(options: RunOptions = {}): Promise<never> {
  collectGarbageEarlier();
  const announce: Announce = (line) => process.stderr.write(`${line}\n`);
  const ending = new AbortController();
  const { signal } = ending;
  let endingSince = 0;
  const end = (name: string) => {
    if (signal.aborted) {
      if (Date.now() - endingSince > SAME_SIGNAL) process.exit(1);
      return;
    }
    endingSince = Date.now();
    announce(`${name}: finishing what is in hand …`);
    setTimeout(() => process.exit(1), SHUTDOWN_LIMIT);
    ending.abort();
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => end(name));
  // If there are processes to restart and standard input is not a terminal, `restartOnHangUp` replaces this.
  const hangUp = () => end('SIGHUP');
  process.on('SIGHUP', hangUp);

  let what = 'cannot start';
  try {
    const service = await start(options, announce, signal);
    what = 'cannot go on';
    if ('restart' in service && !process.stdin.isTTY) {
      process.off('SIGHUP', hangUp);
      restartOnHangUp(service, options, announce);
    }
    const ended = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    await ('failed' in service ? Promise.race([ended, service.failed]) : ended).finally(() => {
      setTimeout(() => process.exit(1), SHUTDOWN_LIMIT);
      return service.stop();
    });
  } catch (error) {
    if (error !== signal.reason) {
      announce(explain(error, signal.aborted ? 'cannot be shut down cleanly' : what));
      process.exit(1);
    }
  }
  process.exit(0);
}

async function start(
  { roles, processes }: RunOptions,
  announce: Announce,
  signal: AbortSignal,
): Promise<Service | SupervisedService> {
  const read = readConfig(undefined, { separateRoles: roles !== undefined, processes });
  const config = { ...read, admin: read.admin ?? createOneTimeAdmin() };
  if (roles === undefined || roles.includes('api'))
    await requireFreePort({ host: config.host, port: config.port, variable: 'PORT' });
  if (roles !== undefined) {
    const { startService } = await import('./service.ts');
    compileEarlier();
    const service = await startService({ config, roles, log: createLog(config.logLevel), announce, signal });
    print(roles.join(', '), service, config);
    return service;
  }
  const { service, names } = await startAll({ config, announce, signal });
  print(`${ROLES.join(', ')}${names.length === 0 ? '' : ` (${names.join(', ')})`}`, service, config);
  return service;
}

/** On SIGHUP, all processes are replaced. They get the current configuration, for example a password or key that has changed in its file. */
function restartOnHangUp(service: SupervisedService, { processes }: RunOptions, announce: Announce): void {
  let config = readConfig(undefined, { processes });
  const restart = async () => {
    announce('SIGHUP: restarting the processes one by one …');
    try {
      const next = readConfig(undefined, { processes });
      const changed = findChanged(config, next);
      announce(
        changed.length > 0
          ? `Changed in their files: ${changed.join(', ')}.`
          : 'No secret has changed in its file. The variables of the environment change only when the service is stopped and started again.',
      );
      const isWhole = await service.restart(next);
      config = next;
      announce(
        isWhole ? 'The restart has ended.' : 'The restart is not complete: not all processes were replaced.',
      );
    } catch (error) {
      announce(`${explain(error, 'cannot restart its processes')} The running processes stay as they are.`);
    }
  };
  let running = false;
  /** Files may have changed after the running restart has read them. */
  let isAskedAgain = false;
  process.on('SIGHUP', async () => {
    isAskedAgain = true;
    if (running) return;
    running = true;
    while (isAskedAgain) {
      isAskedAgain = false;
      await restart();
    }
    running = false;
  });
}

/** Settings that can change while the service runs, because each can be in a file. */
const IN_FILES = {
  databaseUrl: 'DATABASE_URL',
  redisUrl: 'REDIS_URL',
  secretKey: 'SECRET_KEY',
  previousSecretKeys: 'SECRET_KEY_PREVIOUS',
  admin: 'ADMIN_PASSWORD',
  opsTls: 'OPS_TLS_CERT_FILE or OPS_TLS_KEY_FILE',
  opsWebhook: 'OPS_WEBHOOK_URL or OPS_WEBHOOK_SECRET',
  traces: 'OTEL_EXPORTER_OTLP_HEADERS',
} as const satisfies Partial<Record<keyof Config, string>>;

/** The names of the variables whose values differ. */
const findChanged = (one: Config, other: Config): string[] =>
  Object.entries(IN_FILES).flatMap(([key, name]) => {
    const textOf = (config: Config) => JSON.stringify(config[key as keyof typeof IN_FILES]);
    return textOf(one) === textOf(other) ? [] : [name];
  });

function explain(error: unknown, what: string): string {
  if (error instanceof ConfigError) return error.message;
  return `Ledgerbell ${what}: ${error instanceof Error ? error.message : String(error)}`;
}

/** Prints for a person what runs, the URLs of the API and the console, and a generated password for the console. */
function print(
  running: string,
  { url, opsUrl }: Service,
  { admin, zone }: Pick<Config, 'admin' | 'zone'>,
): void {
  const lines = [
    `Ledgerbell is running: ${running}`,
    ...(url === '' ? [] : [`  API      ${url}/v1`, `  Docs     ${url}/docs`]),
    `  Console  ${opsUrl}/ops`,
    ...(admin?.isOneTime
      ? [
          `           Sign in as ${admin.user} with the password ${admin.password}`,
          '           It is for this run alone. Set ADMIN_USER and ADMIN_PASSWORD to choose your own.',
        ]
      : []),
    `  Times    have the offset ${zone.text} (TIME_ZONE_OFFSET)`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
