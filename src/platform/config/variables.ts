import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import * as v from 'valibot';

/**
 * The environment variables with rules of their own: ranges of addresses, the operator's webhook, retention, secrets in files, and
 * traces.
 */

/** A wrong or missing environment variable. The message is one line for the user, and never contains a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Turns a parser that throws into a schema that fails with the parser's message. */
export const parsedBy = <T>(parse: (text: string) => T) =>
  v.rawTransform<string, T>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(dataset.value);
    } catch (error) {
      addIssue({ message: error instanceof Error ? error.message : String(error) });
      return NEVER;
    }
  });

/** Addresses are checked without ipaddr.js, which would delay every command. */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a listener on this host can be reached from this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));

/**
 * Checks one range, such as "10.0.0.0/8" or "::1/128". Stricter than ipaddr.js, which reads "10/8" as 0.0.0.10/8 and
 * "010.0.0.0/8" as 8.0.0.0/8.
 * @throws {Error} that quotes the text when it is not a range.
 */
export function checkCidr(text: string): void {
  const [, address = '', bits = ''] = /^([^/%]+)\/(\d{1,3})$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits) > (version === 6 ? 128 : 32)) {
    throw new Error(
      `must be address ranges such as 10.0.0.0/8 or ::1/128, separated by commas; "${text}" is not a range`,
    );
  }
}

/**
 * Splits a comma-separated list of ranges and checks each one. Blank text is an empty list.
 * @throws {Error} that quotes the first item that is not a range.
 */
export function parseCidrs(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  for (const item of items) checkCidr(item);
  return items;
}

/** The URL to which the operator's operational events are sent, and the secret that signs them. */
export interface OpsWebhook {
  url: string;
  secret: string;
}

const URL_RULE = 'must be an http or https URL of at most 2048 characters without a user name';
const SECRET_RULE =
  'must be "whsec_" followed by the base64 of 24 to 64 bytes (make one with: echo "whsec_$(openssl rand -base64 32)")';

/** Checks the form of Standard Webhooks, in which the same bytes can be written in only one way. */
function isSecret(text: string): boolean {
  const encoded = text.startsWith('whsec_') ? text.slice('whsec_'.length) : '';
  const key = Buffer.from(encoded, 'base64');
  return key.toString('base64') === encoded && key.length >= 24 && key.length <= 64;
}

export const OPS_WEBHOOK_VARIABLES = {
  OPS_WEBHOOK_URL: v.optional(
    v.pipe(
      v.string(),
      v.url(URL_RULE),
      v.regex(/^https?:\/\/[^@]+$/i, URL_RULE),
      v.maxLength(2_048, URL_RULE),
    ),
  ),
  OPS_WEBHOOK_SECRET: v.optional(v.pipe(v.string(), v.check(isSecret, SECRET_RULE))),
};

/** @throws {ConfigError} when one of the two is missing. */
export function readOpsWebhook(env: {
  OPS_WEBHOOK_URL?: string | undefined;
  OPS_WEBHOOK_SECRET?: string | undefined;
}): OpsWebhook | undefined {
  const { OPS_WEBHOOK_URL: url, OPS_WEBHOOK_SECRET: secret } = env;
  if (url !== undefined && secret !== undefined) return { url, secret };
  if (url === secret) return undefined;
  throw new ConfigError('OPS_WEBHOOK_URL and OPS_WEBHOOK_SECRET go together: set both, or neither.');
}

/** How long rows are kept, in days; null: for ever. */
export interface Retention {
  /** After the last attempt of a delivery that has ended. */
  deliveries: number | null;
  /** Attempts before the last one. At the latest, they are removed with their delivery. */
  attempts: number | null;
  /** After an import has ended. */
  imports: number | null;
  /** Since a movement was stored, and also since its date_issue. Both must be past. */
  movements: number | null;
}

/** A hundred years. */
const MAX_DAYS = 36_500;

const RULE = `must be a number of days from 1d to ${MAX_DAYS}d, such as 90d, or forever`;

const isInRange = (text: string): boolean => {
  const days = Number.parseInt(text, 10);
  return text === 'forever' || (days >= 1 && days <= MAX_DAYS);
};

/** `90d` or `forever`. */
const Days = v.pipe(
  v.string(),
  v.regex(/^(?:\d{1,5}d|forever)$/, RULE),
  v.check(isInRange, RULE),
  v.transform((text) => (text === 'forever' ? null : Number.parseInt(text, 10))),
);

/** The variables that say how long rows are kept. */
export const RETENTION_VARIABLES = {
  RETENTION_DELIVERIES: v.optional(Days, '90d'),
  RETENTION_ATTEMPTS: v.optional(Days, '90d'),
  RETENTION_IMPORTS: v.optional(Days, '90d'),
  RETENTION_MOVEMENTS: v.optional(Days, 'forever'),
};

/**
 * Banks repeat the last weeks with each statement, and movements of a removed time are rejected. So movements must be kept for
 * longer than statements overlap.
 */
const LEAST_MOVEMENTS = 30;

/** @throws {ConfigError} when movements are kept for too short a time. */
export function readRetention(variables: Record<keyof typeof RETENTION_VARIABLES, number | null>): Retention {
  const { RETENTION_DELIVERIES: deliveries, RETENTION_MOVEMENTS: movements } = variables;
  if (movements !== null && movements < LEAST_MOVEMENTS) {
    throw new ConfigError(
      `RETENTION_MOVEMENTS must be at least ${LEAST_MOVEMENTS}d: banks send the movements of the last weeks again.`,
    );
  }
  if (movements !== null && (deliveries === null || deliveries > movements)) {
    throw new ConfigError(
      'RETENTION_MOVEMENTS must not be shorter than RETENTION_DELIVERIES: a delivery is shown with its movement.',
    );
  }
  return {
    deliveries,
    attempts: variables.RETENTION_ATTEMPTS,
    imports: variables.RETENTION_IMPORTS,
    movements,
  };
}

/** Variables whose values are secret. Each can be given as NAME_FILE: the path of a file with the value. */
const SECRETS = [
  'DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'ADMIN_PASSWORD',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OPS_WEBHOOK_URL',
  'OPS_WEBHOOK_SECRET',
];

type Variables = Record<string, string | undefined>;

/** The name of a variable for an error, with where its value came from. */
export const nameSource = (env: Variables, name: string): string =>
  SECRETS.includes(name) && env[`${name}_FILE`] !== undefined ? `${name} (from ${name}_FILE)` : name;

/**
 * Adds the secrets that are given as files. Ignores one line break at the end of a file.
 * @param env without empty variables.
 * @param names of the variables that can be given as files.
 * @throws {ConfigError} when both NAME and NAME_FILE are set, or the file cannot be read or is empty. The message contains no path,
 * because somebody may have set NAME_FILE to the secret itself.
 */
export function readSecretFiles(env: Variables, names: readonly string[] = SECRETS): Variables {
  return { ...env, ...Object.fromEntries(names.flatMap((name) => readSecret(env, name))) };
}

function readSecret(env: Variables, name: string): [string, string][] {
  const path = env[`${name}_FILE`];
  if (path === undefined) return [];
  if (env[name] !== undefined)
    throw new ConfigError(`${name} and ${name}_FILE are both set: set only one of them.`);
  const value = readText(path, `${name}_FILE`).replace(/\r?\n$/, '');
  if (value === '') throw new ConfigError(`${name}_FILE must be the path of a file that is not empty.`);
  return [[name, value]];
}

/** @throws {ConfigError} that names the variable with the path, and contains no path. */
export function readText(path: string, variable: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ConfigError(`${variable} must be the path of a readable file (${code}).`);
  }
}

/** The endpoint for spans. The SDK itself reads the other variables of OpenTelemetry. */
export interface TracesConfig {
  /** A URL that accepts OTLP over HTTP as JSON. */
  url: string;
  /** Sent with each request, such as the token of a provider. */
  headers: Record<string, string>;
}

const TRACES_URL_RULE = 'must be an http or https URL without a user name, such as http://localhost:4318';

const Endpoint = v.optional(
  v.pipe(v.string(), v.url(TRACES_URL_RULE), v.regex(/^https?:\/\/[^@/]+(\/.*)?$/i, TRACES_URL_RULE)),
);

const Protocol = v.optional(
  v.literal(
    'http/json',
    'must be http/json, the only protocol that traces are sent with; port 4318 of a collector takes it',
  ),
);

const HEADERS_RULE =
  'must be headers as name=value, separated by commas, with values in percent-encoded ASCII';

const Headers = v.optional(v.pipe(v.string(), parsedBy(parseHeaders)));

const TIMEOUT_RULE = 'must be a whole number of milliseconds, at least 1';
const Timeout = v.optional(v.pipe(v.string(), v.regex(/^[1-9]\d{0,8}$/, TIMEOUT_RULE)));

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and …/protocol/exporter/ */
const Environment = v.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: Endpoint,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: Headers,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: Headers,
  OTEL_EXPORTER_OTLP_PROTOCOL: Protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: Protocol,
  OTEL_EXPORTER_OTLP_TIMEOUT: Timeout,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: Timeout,
  OTEL_TRACES_SAMPLER: v.optional(v.picklist(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`)),
  OTEL_TRACES_SAMPLER_ARG: v.optional(
    v.pipe(v.string(), v.regex(/^(0|1|0?\.\d+|1\.0+)$/, 'must be a number from 0 to 1')),
  ),
});

/**
 * Reads OpenTelemetry's variables if traces are on. They are on if an endpoint is set, and neither OTEL_SDK_DISABLED nor
 * OTEL_TRACES_EXPORTER turns them off.
 * @param env without empty variables, and with the secrets that are given as files.
 * @throws {ConfigError} that names the first wrong variable, in one line.
 */
export function readTracesConfig(env: Record<string, string | undefined>): TracesConfig | undefined {
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (isDisabled || (env.OTEL_EXPORTER_OTLP_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) === undefined)
    return undefined;
  const result = v.safeParse(Environment, env, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    throw new ConfigError(`${nameSource(env, String(v.getDotPath(issue)))} ${issue.message}.`);
  }
  const e = result.output;
  return {
    url: e.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? toTracesUrl(e.OTEL_EXPORTER_OTLP_ENDPOINT ?? ''),
    headers: { ...e.OTEL_EXPORTER_OTLP_HEADERS, ...e.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
  };
}

/** The general endpoint is a base for all signals. The endpoint for traces is used unchanged. */
const toTracesUrl = (base: string): string => `${base.replace(/(?<!\/)\/+$/, '')}/v1/traces`;

/** @throws {Error} that says what the headers must be, and contains none of them. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ''] =
        /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*((?:\S.*)?)$/.exec(pair.trim()) ?? [];
      const decoded = decode(value);
      if (name === undefined || decoded === null) throw new Error(HEADERS_RULE);
      return [name, decoded];
    }),
  );
}

/** @returns null when the value is not percent-encoded ASCII. */
function decode(value: string): string | null {
  try {
    const decoded = decodeURIComponent(value);
    return /^[\t\x20-\x7e]*$/.test(decoded) ? decoded : null;
  } catch {
    return null;
  }
}
