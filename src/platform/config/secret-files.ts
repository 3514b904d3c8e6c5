import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.ts';

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
  const value = readText(path, name).replace(/\r?\n$/, '');
  if (value === '') throw new ConfigError(`${name}_FILE must be the path of a file that is not empty.`);
  return [[name, value]];
}

function readText(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ConfigError(`${name}_FILE must be the path of a readable file (${code}).`);
  }
}
