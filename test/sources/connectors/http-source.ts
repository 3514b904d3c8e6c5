import { afterEach } from 'vitest';
import { type AddressGuard, createAddressGuard } from '../../../src/platform/address-guard.ts';
import type { TimeLimits } from '../../../src/sources/connectors/connection-errors.ts';
import type { Connector } from '../../../src/sources/connectors/connector.ts';
import { createHttpConnector } from '../../../src/sources/connectors/http.ts';
import type { HttpCredentials, HttpSettings } from '../../../src/sources/connectors/settings.ts';

const loopback = createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' });

interface Options {
  credentials?: HttpCredentials;
  guard?: AddressGuard;
  limits?: TimeLimits;
  accountId?: string;
  mostBytes?: number;
}

/** Connectors for HTTP sources. They are closed after the test. */
export function useHttpSource() {
  const connectors: Connector[] = [];
  afterEach(async () => {
    await Promise.all(connectors.splice(0).map((connector) => connector.close()));
  });
  return (settings: Pick<HttpSettings, 'url'> & Partial<HttpSettings>, options: Options = {}): Connector => {
    const connector = createHttpConnector({
      settings: { format: 'file', ...settings },
      credentials: {},
      guard: loopback,
      ...options,
    });
    connectors.push(connector);
    return connector;
  };
}
