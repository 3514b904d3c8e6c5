import type { Role, Runtime } from '../database/runtime.ts';
import { openFeeds } from '../delivery/feed.ts';
import { startServer } from '../http/listener.ts';
import type { FileReader } from '../intake/parser-threads.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { stopTogether } from '../platform/stopping.ts';
import { createApps } from './routes/app.ts';

/** The running API. */
export interface RunningApi extends Role {
  url: string;
  handOver(): Promise<void>;
  /** Where this process answers operators, for the operators' listener and the console, which pass requests on to it. */
  operatorsUrl: string;
}

/**
 * Starts the API's listener, and one on loopback for the requests that the operators' listener passes on. With PORT 0 it takes any free port. `url` shows the port.
 * @throws {PortTakenError} when the port is taken.
 */
export async function startApi(runtime: Runtime, reader: FileReader): Promise<RunningApi> {
  const { host, port, keepAlive, allowPrivateEndpoints } = runtime.config;
  const feeds = openFeeds(runtime);
  const guard = createAddressGuard({ allow: allowPrivateEndpoints });
  const { customers, operators } = createApps(runtime, { guard, reader, feeds });
  const server = await startServer(customers.fetch, { name: 'api', variable: 'PORT', host, port, keepAlive });
  const forOperators = await startServer(operators.fetch, {
    ...{ name: 'operators', variable: 'OPS_PORT', keepAlive },
    ...{ host: '127.0.0.1', port: 0, exclusive: true },
  });
  // Readers that wait are answered immediately, and come again, to another process.
  return {
    ...server,
    operatorsUrl: forOperators.url,
    handOver() {
      feeds.stop();
      return server.handOver();
    },
    stop() {
      feeds.stop();
      return stopTogether([server.stop, forOperators.stop]);
    },
  };
}
