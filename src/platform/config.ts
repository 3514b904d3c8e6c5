import { randomBytes } from 'node:crypto';
import { basename, isAbsolute } from 'node:path';
import * as v from 'valibot';
import { type OpsTls, readOpsTls } from './config/ops-tls.ts';
import {
  ConfigError,
  isLoopback,
  nameSource,
  OPS_WEBHOOK_VARIABLES,
  type OpsWebhook,
  parseCidrs,
  parsedBy,
  RETENTION_VARIABLES,
  type Retention,
  readOpsWebhook,
  readRetention,
  readSecretFiles,
  readTracesConfig,
  type TracesConfig,
} from './config/variables.ts';
import { parseOffset } from './moment.ts';
import { parseMysqlUrl, parseRedisUrl } from './server-urls.ts';
import { isOperatorToken } from './tokens.ts';
import { LAST_PORT, PORT_RULE, WholeNumber } from './whole-numbers.ts';

export { ConfigError, isLoopback, type OpsTls, type OpsWebhook, type Retention };

/** Reads the configuration from the environment variables. */

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const port = WholeNumber(0, LAST_PORT, PORT_RULE);

/** A text that the parser accepts. It stays unparsed. */
const acceptedBy = (parse: (text: string) => unknown) =>
  v.pipe(
    v.string(),
    parsedBy((text) => {
      parse(text);
      return text;
    }),
  );

const isKey = (text: string): boolean => /^[A-Za-z0-9+/]{43}=$/.test(text);
const perCustomer = WholeNumber(1, 1_000_000);

const Environment = v.object({
  PORT: v.optional(port, '3000'),
  HOST: v.optional(v.string(), '127.0.0.1'),
  DATABASE_URL: v.optional(acceptedBy(parseMysqlUrl)),
  REDIS_URL: v.optional(acceptedBy(parseRedisUrl)),
  REDIS_PREFIX: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9_.-]{1,32}$/, 'must have 1 to 32 letters, digits, points, underscores or hyphens'),
    ),
    'ledgerbell',
  ),
  DATA_DIR: v.optional(v.string(), './.data'),
  SECRET_KEY: v.optional(
    v.pipe(
      v.string(),
      v.check(isKey, 'must be 32 bytes in base64 (44 characters; make one with: openssl rand -base64 32)'),
    ),
  ),
  SECRET_KEY_PREVIOUS: v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => text.split(',').map((key) => key.trim())),
      v.everyItem(isKey, 'must be one or more keys of 32 bytes in base64, separated by commas'),
    ),
  ),
  TIME_ZONE_OFFSET: v.optional(v.pipe(v.string(), parsedBy(parseOffset)), '+03'),
  OPS_HOST: v.optional(v.string(), '127.0.0.1'),
  OPS_PORT: v.optional(port),
  OPS_TLS_CERT_FILE: v.optional(v.string()),
  OPS_TLS_KEY_FILE: v.optional(v.string()),
  OPS_BEHIND_TLS: v.optional(v.picklist(['true', 'false'], 'must be true or false'), 'false'),
  // Basic auth cannot carry a colon in the name (RFC 7617, section 2).
  ADMIN_USER: v.optional(v.pipe(v.string(), v.excludes(':', 'must be a name without a colon'))),
  ADMIN_PASSWORD: v.optional(v.pipe(v.string(), v.minLength(12, 'must be at least 12 characters long'))),
  ...OPS_WEBHOOK_VARIABLES,
  TRUSTED_PROXIES: v.optional(v.pipe(v.string(), parsedBy(parseCidrs)), ''),
  KEEP_ALIVE: v.optional(WholeNumber(1, 3_600, 'must be a whole number of seconds from 1 to 3600'), '75'),
  ALLOW_PRIVATE_ENDPOINTS: v.optional(v.pipe(v.string(), parsedBy(parseCidrs)), ''),
  NOTIFICATION_ENCODING: v.optional(v.picklist(['json', 'form'], 'must be json or form'), 'json'),
  RATE_LIMIT: v.optional(
    WholeNumber(0, 1_000_000, 'must be a whole number of requests per second from 0 (no limit) to 1000000'),
    '1000',
  ),
  DELIVERY_QUEUES: v.optional(WholeNumber(1, 64, 'must be a whole number of queues from 1 to 64'), '1'),
  WEBHOOKS_PER_CUSTOMER: v.optional(perCustomer, '100'),
  KEYS_PER_CUSTOMER: v.optional(perCustomer, '100'),
  PROFILES_DIR: v.optional(v.string()),
  SOURCES_DIR: v.optional(v.string()),
  ...RETENTION_VARIABLES,
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
  QUEUE_DASHBOARD: v.optional(
    v.picklist(['read-only', 'writable'], 'must be read-only or writable'),
    'read-only',
  ),
  PROCESSES: v.optional(WholeNumber(1, 64, 'must be a whole number of processes from 1 to 64')),
  EMBEDDED: v.optional(v.picklist(['auto', 'never'], 'must be auto or never')),
  EMBEDDED_INSTALL: v.optional(v.picklist(['auto', 'never'], 'must be auto or never'), 'auto'),
  // Set by systemd and by the login of a user.
  RUNTIME_DIRECTORY: v.optional(v.string()),
  XDG_RUNTIME_DIR: v.optional(v.string()),
});

/** The settings, as the program names them. */
const toConfig = (e: v.InferOutput<typeof Environment>) => ({
  port: e.PORT,
  host: e.HOST,
  databaseUrl: e.DATABASE_URL,
  redisUrl: e.REDIS_URL,
  /** Stands before all keys in Redis, so that several installations can share it. */
  redisPrefix: e.REDIS_PREFIX,
  dataDir: e.DATA_DIR,
  /** Directories for files that are needed only while a process runs, the preferred one first. */
  runtimeDirs: [e.RUNTIME_DIRECTORY?.split(':')[0], e.XDG_RUNTIME_DIR].filter(
    (path): path is string => path !== undefined && isAbsolute(path),
  ),
  /** 32 bytes in base64. Can be `undefined` only without `databaseUrl`; the key is then kept in `dataDir`. */
  secretKey: e.SECRET_KEY,
  /** Keys that only open values that were sealed with them. */
  previousSecretKeys: e.SECRET_KEY_PREVIOUS ?? [],
  zone: e.TIME_ZONE_OFFSET,
  /** The address of the operators' listener. It is loopback unless `admin` is set. */
  opsHost: e.OPS_HOST,
  /** `undefined`: the port after `port`, or any free one. */
  opsPort: e.OPS_PORT,
  /** `undefined`: the operators' listener speaks plain HTTP. */
  opsTls: readOpsTls(e),
  /** Whether a proxy in front of the operators' listener encrypts. */
  opsBehindTls: e.OPS_BEHIND_TLS === 'true',
  /** `isOneTime`: this process made it, because the environment has none. */
  admin: toAdmin(e),
  opsWebhook: readOpsWebhook(e),
  /** CIDR ranges of proxies whose X-Forwarded-For is believed. */
  trustedProxies: e.TRUSTED_PROXIES,
  /** Seconds for which a connection of a client stays open after an answer. */
  keepAlive: e.KEEP_ALIVE,
  allowPrivateEndpoints: e.ALLOW_PRIVATE_ENDPOINTS,
  notificationEncoding: e.NOTIFICATION_ENCODING,
  /** Requests per second for each API key, averaged over 10 s. 0: no limit. */
  rateLimit: e.RATE_LIMIT,
  /** How many queues share the deliveries. */
  deliveryQueues: e.DELIVERY_QUEUES,
  /** The most webhooks and API keys that a customer may have. */
  webhooksPerCustomer: e.WEBHOOKS_PER_CUSTOMER,
  keysPerCustomer: e.KEYS_PER_CUSTOMER,
  /** A folder with profiles of CSV and XLSX files, in addition to the built-in ones. */
  profilesDir: e.PROFILES_DIR,
  /** The folder for folder sources. In it, each customer has a folder named by the customer's id. */
  sourcesDir: e.SOURCES_DIR,
  retention: readRetention(e),
  logLevel: e.LOG_LEVEL,
  /** Whether jobs can be retried and removed on the dashboard. */
  queueDashboard: e.QUEUE_DASHBOARD,
  install: e.EMBEDDED_INSTALL,
  /** How many processes `npm start` runs. `undefined`: one per core, at most four. */
  processes: e.PROCESSES,
});

interface Admin {
  user: string;
  password: string;
  /** This process made it, because the environment has none. */
  isOneTime?: true;
}

const toAdmin = ({
  ADMIN_USER: user,
  ADMIN_PASSWORD: password,
}: v.InferOutput<typeof Environment>): Admin | undefined =>
  user !== undefined && password !== undefined ? { user, password } : undefined;

/** All settings from the environment, read once and passed down. A URL that is `undefined` means an embedded server. */
export interface Config extends ReturnType<typeof toConfig> {
  /** Whether private servers may be started in place of missing URLs. */
  embedded: 'auto' | 'never';
  /** `undefined`: traces are off. */
  traces: TracesConfig | undefined;
  /** The token of this machine's command line, which the processes of one service share. Absent in a command. */
  localToken?: string;
}

/**
 * Reads and checks the environment. An empty variable counts as absent, as in docker-compose files. A secret NAME can be given in a
 * file that NAME_FILE names.
 * @param separateRoles whether this process was told which roles to run. It then shares its servers with other processes.
 * @param processes the command line's value for PROCESSES.
 * @throws {ConfigError} that names the first wrong variable, what is allowed and what was wrong, in one line.
 */
export function readConfig(
  env: NodeJS.ProcessEnv = process.env,
  { separateRoles = false, processes }: { separateRoles?: boolean; processes?: string | undefined } = {},
): Config {
  const given = processes === undefined ? env : { ...env, PROCESSES: processes };
  const present = readSecretFiles(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
  );
  const result = v.safeParse(Environment, present, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    const name = nameSource(present, String(issue.path?.[0]?.key));
    throw new ConfigError(`${name} ${issue.message.replaceAll(/\s+/g, ' ')}.`);
  }
  const e = result.output;
  if ((e.ADMIN_USER === undefined) !== (e.ADMIN_PASSWORD === undefined)) {
    throw new ConfigError('ADMIN_USER and ADMIN_PASSWORD go together: set both, or neither.');
  }
  if (e.ADMIN_PASSWORD === undefined && !isLoopback(e.OPS_HOST)) {
    throw new ConfigError(
      'ADMIN_USER and ADMIN_PASSWORD must be set when OPS_HOST is not a loopback address such as 127.0.0.1.',
    );
  }
  if (e.DATABASE_URL !== undefined && e.SECRET_KEY === undefined) {
    throw new ConfigError(
      'SECRET_KEY must be set when DATABASE_URL is: 32 bytes in base64 (make one with: openssl rand -base64 32).',
    );
  }
  if (separateRoles && e.PROCESSES !== undefined) {
    throw new ConfigError(
      'PROCESSES and --processes do not go together with --roles, which runs one process.',
    );
  }
  return {
    ...toConfig(e),
    embedded: e.EMBEDDED ?? (separateRoles || present.NODE_ENV === 'production' ? 'never' : 'auto'),
    traces: readTracesConfig(present),
  };
}

/**
 * The address of the operators' listener if the passwords of operators reach it from other machines in plain text; null: they do not.
 */
export const findPlainTextHost = ({
  opsHost,
  opsTls,
  opsBehindTls,
}: Pick<Config, 'opsHost' | 'opsTls' | 'opsBehindTls'>): string | null =>
  isLoopback(opsHost) || opsTls !== undefined || opsBehindTls ? null : opsHost;

/** Makes a password for a process that has none in its environment. The password is valid until the process ends. */
export const createOneTimeAdmin = (): Admin => ({
  user: 'admin',
  password: randomBytes(16).toString('base64url'),
  isOneTime: true,
});

/**
 * Checks that this configuration names each needed server, or allows an embedded one instead.
 * @throws {ConfigError} that names the missing variables, and says how to allow embedded servers.
 */
export function requireServers(config: Config, needed: readonly ('databaseUrl' | 'redisUrl')[]): void {
  const missing = needed.filter((name) => config[name] === undefined).map((name) => VARIABLES[name]);
  if (config.embedded === 'auto' || missing.length === 0) return;
  throw new ConfigError(
    `${missing.join(' and ')} must be set: no private servers are started with NODE_ENV=production, with --roles or with EMBEDDED=never (EMBEDDED=auto allows them).`,
  );
}

const VARIABLES = { databaseUrl: 'DATABASE_URL', redisUrl: 'REDIS_URL' };

/** Settings of the command line as a client of the API. Options of a command override them. */
export interface ClientConfig {
  url: URL | undefined;
  apiKey: string | undefined;
  apiSecret: string | undefined;
  webhookSecret: string | undefined;
  /** The operators' listener. */
  opsUrl: URL | undefined;
  operatorToken: string | undefined;
}

const HTTP_URL_RULE = 'must be an http or https URL without a user name, such as https://ledgerbell.example';

const HttpUrl = v.pipe(v.string(), v.url(HTTP_URL_RULE), v.regex(/^https?:\/\/[^@]+$/i, HTTP_URL_RULE));

const ClientEnvironment = v.object({
  LEDGERBELL_URL: v.optional(HttpUrl),
  LEDGERBELL_API_KEY: v.optional(v.string()),
  LEDGERBELL_API_SECRET: v.optional(v.string()),
  LEDGERBELL_WEBHOOK_SECRET: v.optional(v.string()),
  LEDGERBELL_OPS_URL: v.optional(HttpUrl),
  LEDGERBELL_OPERATOR_TOKEN: v.optional(
    v.pipe(
      v.string(),
      v.check(isOperatorToken, 'must be the token that was shown: "lbop_" followed by 43 characters'),
    ),
  ),
});

/**
 * Reads the settings of the command line as a client. Each can be in the file that NAME_FILE names.
 * @throws {ConfigError} that names the first wrong variable, in one line.
 */
export function readClientConfig(env: NodeJS.ProcessEnv = process.env): ClientConfig {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const given = readSecretFiles(present, Object.keys(ClientEnvironment.entries));
  const result = v.safeParse(ClientEnvironment, given, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    throw new ConfigError(`${v.getDotPath(issue)} ${issue.message}.`);
  }
  const e = result.output;
  const toUrl = (text: string | undefined) => (text === undefined ? undefined : new URL(text));
  return {
    url: toUrl(e.LEDGERBELL_URL),
    apiKey: e.LEDGERBELL_API_KEY,
    apiSecret: e.LEDGERBELL_API_SECRET,
    webhookSecret: e.LEDGERBELL_WEBHOOK_SECRET,
    opsUrl: toUrl(e.LEDGERBELL_OPS_URL),
    operatorToken: e.LEDGERBELL_OPERATOR_TOKEN,
  };
}

/** How this program was called. Hints to other commands begin with it. */
export function calledAs(
  { npm_lifecycle_event: script, npm_command: command }: NodeJS.ProcessEnv = process.env,
  [, file = '']: readonly string[] = process.argv,
): string {
  if (script === 'cli') return 'npm run cli --';
  return command === 'exec' && basename(file) === 'ledgerbell' ? 'npx ledgerbell' : 'ledgerbell';
}

/** The roles of a process. */
export const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
export type RoleName = (typeof ROLES)[number];

const isRole = (name: string): name is RoleName => (ROLES as readonly string[]).includes(name);

/** Parses `api,importer`. @throws {Error} that names the text that is not a role. */
export function parseRoles(text: string): RoleName[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !isRole(name));
  if (wrong !== undefined)
    throw new Error(`--roles takes ${ROLES.join(', ')}, separated by commas; "${wrong}" is not a role.`);
  return names.filter(isRole);
}

/** A copy of the version in package.json, which a compiled file cannot import on Node 20 without a warning. */
export const VERSION = '1.0.0';
