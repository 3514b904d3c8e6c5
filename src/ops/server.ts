import { PortTakenError, startServer } from '../http/server.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createOpsApp } from './app.ts';
import { watchInstallation } from './console/now-routes.tsx';

const LAST_PORT = 65_535;

/**
 * Starts the operators' listener. It is separate from the API's, so that a proxy in front of the API cannot show its pages.
 * Without OPS_PORT it takes the port after PORT or, if that is taken by another process of the service, any free one.
 * @throws {PortTakenError} when OPS_PORT is set and taken.
 */
export async function startOps(runtime: Runtime): Promise<Role & { url: string }> {
  const { opsHost, opsPort, port } = runtime.config;
  const watched = watchInstallation(runtime);
  const { fetch } = createOpsApp(runtime, watched);
  const listen = async (on: number) => {
    const server = await startServer(fetch, { name: 'ops', variable: 'OPS_PORT', host: opsHost, port: on });
    return {
      ...server,
      stop() {
        // Pages that are being kept up to date would hold their connections open.
        watched.close();
        return server.stop();
      },
    };
  };
  if (opsPort !== undefined) return listen(opsPort);
  if (port === 0 || port === LAST_PORT) return listen(0);
  try {
    return await listen(port + 1);
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    return listen(0);
  }
}
