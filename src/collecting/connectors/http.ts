import type { AddressGuard } from '../../addresses/address-guard.ts';
import type { Connector } from '../connector.ts';
import { TIME_LIMITS, type TimeLimits } from './connection-errors.ts';
import { offerFile } from './http-file.ts';
import { createHttpClient } from './http-get.ts';
import { offerPages } from './http-json.ts';
import { type HttpCredentials, type HttpSettings, headersOf } from './http-settings.ts';

interface HttpOptions {
  settings: HttpSettings;
  credentials: HttpCredentials;
  guard: AddressGuard;
  /** For pages of JSON: the account of movements that name none. */
  accountId?: string | null;
  limits?: TimeLimits;
}

/** Collects a file at a URL, or movements from a JSON API. Nothing on the server is changed. */
export function createHttpConnector({
  settings,
  credentials,
  guard,
  accountId = null,
  limits = TIME_LIMITS,
}: HttpOptions): Connector {
  const url = new URL(settings.url);
  const client = createHttpClient({ origin: url.origin, credentials: headersOf(credentials), guard, limits });
  return {
    files: (since, signal) =>
      settings.format === 'json'
        ? offerPages(client, settings, accountId, since, signal)
        : offerFile(client, url, since, signal),
    close: () => client.close(),
  };
}

/** The refusal of the URL's address, or null. For creating or changing a source. */
export const checkHttpAddress = (
  settings: HttpSettings,
  { guard }: { guard: AddressGuard },
): Promise<string | null> => guard.checkEndpoint(new URL(settings.url));
