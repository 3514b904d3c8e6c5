import type { Role, Runtime } from '../database/runtime.ts';
import { openFeeds } from '../delivery/feed.ts';
import { startServer } from '../http/listener.ts';
import type { FileReader } from '../intake/parser-threads.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { createApp } from './routes/app.ts';

/**
 * Starts the API's listener. With PORT 0 it takes any free port. `url` shows the port.
 * @throws {PortTakenError} when the port is taken.
 */
export async function startApi(
  runtime: Runtime,
  reader: FileReader,
): Promise<Role & { url: string; handOver(): Promise<void> }> {
  const { host, port, keepAlive, allowPrivateEndpoints } = runtime.config;
  const feeds = openFeeds(runtime);
  const guard = createAddressGuard({ allow: allowPrivateEndpoints });
  const app = createApp(runtime, guard, { reader, feeds });
  const server = await startServer(app.fetch, { name: 'api', variable: 'PORT', host, port, keepAlive });
  // Readers that wait are answered immediately, and come again, to another process.
  return {
    ...server,
    handOver() {
      feeds.stop();
      return server.handOver();
    },
    stop() {
      feeds.stop();
      return server.stop();
    },
  };
}
