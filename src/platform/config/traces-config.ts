import * as v from 'valibot';
import { ConfigError, parsedBy } from './config-error.ts';
import { nameSource } from './secret-files.ts';

/** The endpoint for spans. The SDK itself reads the other variables of OpenTelemetry. */
export interface TracesConfig {
  /** A URL that accepts OTLP over HTTP as JSON. */
  url: string;
  /** Sent with each request, such as the token of a provider. */
  headers: Record<string, string>;
}

const URL_RULE = 'must be an http or https URL without a user name, such as http://localhost:4318';

const Endpoint = v.optional(
  v.pipe(v.string(), v.url(URL_RULE), v.regex(/^https?:\/\/[^@/]+(\/.*)?$/i, URL_RULE)),
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
const toTracesUrl = (base: string): string => `${base.replace(/\/+$/, '')}/v1/traces`;

/** @throws {Error} that says what the headers must be, and contains none of them. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ''] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
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
