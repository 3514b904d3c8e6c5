import { hostname } from 'node:os';
import { readProcesses } from '../database/processes.ts';
import type { Runtime } from '../database/runtime.ts';
import { createBaseApp } from '../http/app.ts';
import { createForwarder, noProcess } from '../http/forward.ts';
import type { Fetch } from '../http/listener.ts';
import type { Config } from '../platform/config.ts';
import type { Stop } from '../platform/stopping.ts';
import { createOperatorToken } from '../platform/tokens.ts';
import { publishLocalToken } from '../servers/local-token.ts';

/** Reaches the operators' API, which a process with the role api answers on loopback. */

/** Finds where a process of this service answers operators; undefined: none with the role api runs here now. */
export type FindApi = () => string | undefined;

/** Passes the requests that come to the operators' listener on. */
export function passOn(runtime: Runtime, find: FindApi): Fetch {
  const app = createBaseApp(runtime);
  const pass = createForwarder(runtime.config.localToken ?? '');
  app.all('*', async (c) => pass(c, find() ?? (await refuse(runtime))));
  return app.fetch;
}

/** @throws {Problem} 503 that says where a process with the role api runs. */
export async function refuse({ database }: Pick<Runtime, 'database'>): Promise<never> {
  const processes = await readProcesses(database);
  const hosts = processes
    .filter(({ running, roles }) => running && roles.includes('api'))
    .map(({ host }) => host);
  // A process that was killed is seen until its heartbeats are missed.
  const elsewhere = [...new Set(hosts)].filter((host) => host !== hostname());
  const where =
    elsewhere.length === 0
      ? 'If one is being started again, try again in a second; else start one.'
      : `Ask the operators' listener there: ${elsewhere.join(', ')}.`;
  throw noProcess(`No process with the role api runs here now. ${where}`);
}

/** A configuration with a token for the command line of this machine. @param before has the token that stays valid. */
export const withLocalToken = (config: Config, before?: Config): Config => ({
  ...config,
  localToken: before?.localToken ?? config.localToken ?? createOperatorToken(),
});

/** Leaves the token where the command line of this machine finds it. @returns what removes it. */
export function publishToken({ config }: Runtime, url: string, announce: (line: string) => void): Stop {
  const remove = publishLocalToken({ ...config, token: config.localToken ?? '', url });
  if (remove === null)
    announce(
      'Neither DATA_DIR nor a runtime directory can be written, so commands on this machine need LEDGERBELL_OPERATOR_TOKEN.',
    );
  return () => remove?.();
}
