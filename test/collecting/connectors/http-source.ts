import { afterEach } from 'vitest';
import type { AddressGuard } from '../../../src/addresses/address-guard.ts';
import { createAddressGuard } from '../../../src/addresses/address-guard.ts';
import type { Connector } from '../../../src/collecting/connector.ts';
import type { TimeLimits } from '../../../src/collecting/connectors/connection-errors.ts';
import { createHttpConnector } from '../../../src/collecting/connectors/http.ts';
import type { HttpCredentials, HttpSettings } from '../../../src/collecting/connectors/http-settings.ts';

const loopback = createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' });

interface Options {
  credentials?: HttpCredentials;
  guard?: AddressGuard;
  limits?: TimeLimits;
  accountId?: string;
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
