import { expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../src/platform/config.ts';

const ENDPOINT = 'http://collector:4318';

it.each([
  [{}],
  [{ OTEL_SERVICE_NAME: 'bells', OTEL_TRACES_SAMPLER: 'no such sampler' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
])('traces are off with %j', (env) => {
  expect(readConfig(env as Record<string, string>).traces).toBeUndefined();
});

it.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, 'http://collector:4318/v1/traces', {}],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example/base/' }, 'https://otlp.example/base/v1/traces', {}],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://otlp.example/x?y' },
    'https://otlp.example/x?y',
    {},
  ],
  [
    {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://[::1]:4318/v1/traces',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x%3Dy , a=1,',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
    },
    'http://[::1]:4318/v1/traces',
    { authorization: 'Bearer x=y', a: '2' },
  ],
])('traces are on with %j', (env, url, headers) => {
  expect(readConfig(env as Record<string, string>).traces).toEqual({ url, headers });
});

it.each([
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['collector:4318', 'ftp://host', 'http://u:MARKER@host', 'MARKER']],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', ['grpc', 'http/protobuf']],
  ['OTEL_EXPORTER_OTLP_HEADERS', ['MARKER', 'a b=MARKER', 'a=%MARKER', 'a=%0AMARKER', 'a=ÇMARKER']],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', ['0', '10s', '-1']],
  ['OTEL_TRACES_SAMPLER', ['always', 'ratio']],
  ['OTEL_TRACES_SAMPLER_ARG', ['1.5', '-0.1', '10%']],
])('a wrong %s stops the start with one line: %j', (name, values) => {
  for (const value of values) {
    const read = () => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, [name]: value });
    expect(read, value).toThrow(ConfigError);
    expect(read, value).toThrow(new RegExp(`^${name} must be [^\\r\\n]+\\.$`));
    expect(read, value).not.toThrow(/MARKER/);
  }
});
