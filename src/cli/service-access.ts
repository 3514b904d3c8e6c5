import { resolve } from 'node:path';
import * as v from 'valibot';
import { type Config, ROLES } from '../platform/config.ts';
import { findRunning, hasDatabase } from '../servers/running-servers.ts';
import { type Api, createApi, RefusedError, UnreachableError } from './api-client.ts';
import { type CommandContext, Failure } from './context.ts';

/** Finds the running service for a command, or starts one while the command runs. */

/**
 * Runs `work` with a client of the API at `url`, or at the address of this configuration. If nothing answers at the configured address,
 * and MySQL may be embedded but is not running, starts the whole service while `work` runs.
 * @throws {Failure} when no service answers and there is no database to start a service on, or when the service does not know the key.
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
    // A new database does not know the key.
    if (!hasDatabase(config.dataDir))
      throw new Failure(
        `${error.message} ${noDatabaseIn(config.dataDir)} Perhaps DATA_DIR is another folder.`,
      );
    terminal.note('No service is running: starting it for this command.');
    const { createLog } = await import('../platform/log.ts');
    const { startService } = await import('../service.ts');
    const service = await startService({
      config: { ...config, port: 0, opsPort: 0 },
      roles: ROLES,
      log: createLog('silent'),
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

/** Checks that the service answers and knows the key before a large file is sent. Accepts a 403, which a key without the scope `read` gets. */
const probe = (api: Api) =>
  api.get('/v1/banks', v.object({ banks: v.array(v.unknown()) })).catch((error: unknown) => {
    if (!(error instanceof RefusedError && error.status === 403)) throw error;
  });

/** Says whether MySQL is embedded, not running, and may be started. */
export const mayStart = async ({ databaseUrl, dataDir, embedded }: Config): Promise<boolean> =>
  databaseUrl === undefined && embedded === 'auto' && (await findRunning(dataDir)) === null;

/** The URL at which a listener of this machine can be asked. */
export function defaultUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The message of a command that would otherwise open a new and empty database although the user means another folder. */
export const noDatabaseIn = (dataDir: string): string =>
  `There is no database in ${resolve(dataDir)}, and no service runs on it.`;
