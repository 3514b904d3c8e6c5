import type { Role, Runtime } from '../database/runtime.ts';
import { openFeeds } from '../delivery/feed.ts';
import { type Fetch, startServer } from '../http/listener.ts';
import type { FileReader } from '../intake/parser-threads.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { createApps } from './routes/app.ts';

/** The running API. */
export interface RunningApi extends Role {
  url: string;
  handOver(): Promise<void>;
  /** Answers the requests of operators, which come to the operators' listener. */
  operators: Fetch;
}

/**
 * Starts the API's listener. With PORT 0 it takes any free port. `url` shows the port.
 * @throws {PortTakenError} when the port is taken.
 */
export async function startApi(runtime: Runtime, reader: FileReader): Promise<RunningApi> {
  const { host, port, keepAlive, allowPrivateEndpoints } = runtime.config;
  const feeds = openFeeds(runtime);
  const guard = createAddressGuard({ allow: allowPrivateEndpoints });
  const { customers, operators } = createApps(runtime, { guard, reader, feeds });
  const server = await startServer(customers.fetch, { name: 'api', variable: 'PORT', host, port, keepAlive });
  // Readers that wait are answered immediately, and come again, to another process.
  return {
    ...server,
    operators: operators.fetch,
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
