import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Config, readConfig } from '../../platform/config.ts';

const HOST = '127.0.0.1';

/**
 * The demo's own configuration. Its embedded servers have their own directory below DATA_DIR, so the demo never touches configured servers
 * or a running service. Endpoints on this machine are allowed.
 * @param folder the name of that directory.
 */
export async function chooseConfig(
  { dataDir, port, opsPort, install, processes, zone }: Config,
  folder: 'demo' | 'trouble',
): Promise<Config> {
  return readConfig({
    DATA_DIR: join(dataDir, folder),
    SOURCES_DIR: join(dataDir, folder, 'sources'),
    HOST,
    PORT: String((await isFree(port)) ? port : 0),
    ...(opsPort === undefined ? {} : { OPS_PORT: String(opsPort) }),
    ...(processes === undefined ? {} : { PROCESSES: String(processes) }),
    EMBEDDED: 'auto',
    EMBEDDED_INSTALL: install,
    TIME_ZONE_OFFSET: zone.text,
    ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    LOG_LEVEL: 'warn',
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
