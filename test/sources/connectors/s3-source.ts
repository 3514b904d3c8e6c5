import { afterEach, beforeEach } from 'vitest';
import { type AddressGuard, createAddressGuard } from '../../../src/platform/address-guard.ts';
import type { TimeLimits } from '../../../src/sources/connectors/connection-errors.ts';
import type { Connector } from '../../../src/sources/connectors/connector.ts';
import { createS3Connector } from '../../../src/sources/connectors/s3.ts';
import type { S3Credentials, S3Settings } from '../../../src/sources/connectors/settings.ts';
import { CREDENTIALS, useS3Server } from './s3-server.ts';

interface Options {
  credentials?: S3Credentials;
  guard?: AddressGuard;
  limits?: TimeLimits;
}

/** A bucket for each test, and connectors for it. They are closed after the test. */
export function useS3Source() {
  const server = useS3Server();
  const connectors: Connector[] = [];
  const source = { bucket: '', server, connect, put };
  beforeEach(async () => {
    source.bucket = await server.createBucket();
  });
  afterEach(async () => {
    await Promise.all(connectors.splice(0).map((connector) => connector.close()));
  });

  function connect(settings: Partial<S3Settings> = {}, options: Options = {}): Connector {
    const connector = createS3Connector({
      settings: {
        endpoint: server.endpoint,
        region: 'us-east-1',
        bucket: source.bucket,
        pattern: '*',
        after: 'leave',
        ...settings,
      },
      credentials: CREDENTIALS,
      guard: createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' }),
      ...options,
    });
    connectors.push(connector);
    return connector;
  }

  function put(key: string, body: string | Buffer) {
    return server.put(source.bucket, key, body);
  }

  return source;
}
