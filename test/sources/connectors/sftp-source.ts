import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type AddressGuard, createAddressGuard } from '../../../src/platform/address-guard.ts';
import type { TimeLimits } from '../../../src/sources/connectors/connection-errors.ts';
import type { Connector } from '../../../src/sources/connectors/connector.ts';
import type { SftpCredentials, SftpSettings } from '../../../src/sources/connectors/settings.ts';
import { createSftpConnector } from '../../../src/sources/connectors/sftp.ts';
import type { OpenSsh } from './openssh.ts';

export const loopback = createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' });

interface Options {
  credentials?: SftpCredentials;
  guard?: AddressGuard;
  limits?: TimeLimits;
  now?: () => number;
  settleSeconds?: number;
}

/** A folder on the server for each test, and connectors for it. They are closed after the test. */
export function useSftpSource(server: OpenSsh) {
  const connectors: Connector[] = [];
  let folder = '';
  let count = 0;

  beforeEach(async () => {
    if (server.folder === '') return;
    count += 1;
    folder = join(server.folder, `bank ${count}`);
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o777);
  });
  afterEach(async () => {
    await Promise.all(connectors.splice(0).map((connector) => connector.close()));
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  });

  return {
    get folder() {
      return folder;
    },
    connect(settings: Partial<SftpSettings> = {}, options: Options = {}): Connector {
      const connector = createSftpConnector({
        settings: {
          host: '127.0.0.1',
          port: server.port,
          user: server.user,
          path: folder,
          host_key: server.hostKeys.ed25519,
          pattern: '*',
          after: 'leave',
          ...settings,
        },
        credentials: { private_key: server.key },
        guard: loopback,
        settleSeconds: 0.001,
        ...options,
      });
      connectors.push(connector);
      return connector;
    },
  };
}
