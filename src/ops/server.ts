import { PortTakenError, startServer } from '../http/server.ts';
import type { Role, Runtime } from '../runtime.ts';
import { createOpsApp } from './app.ts';

const LAST_PORT = 65_535;

/**
 * Starts the operators' listener. It is separate from the API's, so that a proxy in front of the API cannot show its pages.
 * Without OPS_PORT it takes the port after PORT or, if that is taken by another process of the service, any free one.
 * @throws {PortTakenError} when OPS_PORT is set and taken.
 */
export async function startOps(runtime: Runtime): Promise<Role & { url: string }> {
  const { opsHost, opsPort, port } = runtime.config;
  const { fetch } = createOpsApp(runtime);
  const listen = (on: number) =>
    startServer(fetch, { name: 'ops', variable: 'OPS_PORT', host: opsHost, port: on });
  if (opsPort !== undefined) return listen(opsPort);
  if (port === 0 || port === LAST_PORT) return listen(0);
  try {
    return await listen(port + 1);
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    return listen(0);
  }
}
