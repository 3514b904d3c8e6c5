import type { Servers } from '../database/runtime.ts';
import { type Config, requireServers } from '../platform/config.ts';
import { abandonStart } from '../platform/stopping.ts';
import { startEmbedded } from './embedded.ts';
import { loadOrCreateSecretKey } from './private-file.ts';

/** Returns the configured servers, and starts embedded servers for those that are not configured. */
export async function findServers(
  config: Config,
  announce: (line: string) => void,
  signal?: AbortSignal,
): Promise<Servers> {
  requireServers(config, ['databaseUrl', 'redisUrl']);
  const { databaseUrl, redisUrl, dataDir, install } = config;
  const embedded = await startEmbedded({
    dataDir,
    mysql: databaseUrl === undefined,
    redis: redisUrl === undefined,
    install,
    announce,
    signal,
  });
  try {
    return {
      databaseUrl: required(databaseUrl ?? embedded.databaseUrl),
      redisUrl: required(redisUrl ?? embedded.redisUrl),
      secretKey: config.secretKey ?? (await loadOrCreateSecretKey(dataDir)),
      stop: embedded.stop,
    };
  } catch (error) {
    return await abandonStart(error, embedded.stop);
  }
}

function required(url: string | undefined): string {
  if (url === undefined) throw new Error('an embedded server started without telling where it is');
  return url;
}
