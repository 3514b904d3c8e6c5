import * as v from 'valibot';
import type { Config } from '../config.ts';
import { findRunning } from '../embedded/servers.ts';
import { createLog } from '../log.ts';
import { ROLES, startService } from '../service.ts';
import { type Api, createApi, UnreachableError } from './api-client.ts';
import type { CommandContext } from './context.ts';

/**
 * Lends the API for the length of `work`: the one at `url`, or that of this configuration. Where nothing answers, and the
 * servers would be embedded and nobody has them, the whole service is started for as long.
 * @throws {Failure} when there is no service to be had, or it does not know the key.
 */
export async function withApi<T>(
  { readConfig, terminal }: CommandContext,
  { url, key }: { url: URL | undefined; key: string },
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const config = readConfig();
  const api = createApi(url?.href ?? defaultUrl(config), key);
  try {
    await probe(api);
  } catch (error) {
    if (!(error instanceof UnreachableError) || url !== undefined || !(await mayStart(config))) throw error;
    terminal.note('No service is running: starting it for this command.');
    const log = createLog('silent');
    const service = await startService({
      config: { ...config, port: 0 },
      roles: ROLES,
      log,
      announce: terminal.note,
    });
    try {
      const own = createApi(service.url, key);
      await probe(own);
      return await work(own);
    } finally {
      await service.stop();
    }
  }
  return work(api);
}

/** Before a large file is sent: is somebody there, and do they know the key? */
const probe = (api: Api) => api.get('/v1/banks', v.object({ banks: v.array(v.unknown()) }));

const mayStart = async ({ databaseUrl, dataDir }: Config): Promise<boolean> =>
  databaseUrl === undefined && (await findRunning(dataDir)) === null;

function defaultUrl({ host, port }: Config): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
