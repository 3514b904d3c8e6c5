import type { Handler } from 'hono';
import { readProcesses } from '../database/processes.ts';
import type { Runtime } from '../database/runtime.ts';
import { type ApiEnv, createBaseApp } from '../http/app.ts';
import { createForwarder, noProcess } from '../http/forward.ts';
import type { Fetch } from '../http/listener.ts';
import type { Config } from '../platform/config.ts';
import type { Stop } from '../platform/stopping.ts';
import { createLocalToken, publishLocalToken } from '../servers/local-token.ts';

/** How the operators' listener answers the requests to the API, and what the command line of this machine needs for them. */

const appOf = (runtime: Runtime, handle: Handler<ApiEnv>): Fetch => {
  const app = createBaseApp(runtime);
  app.all('*', handle);
  return app.fetch;
};

/** Passes requests on to a process with the role api. @param find its URL; undefined: none runs now. */
export const passOn = (runtime: Runtime, find: () => string | undefined): Fetch =>
  appOf(runtime, createForwarder(find, runtime.config.localToken ?? ''));

/** Says where a process with the role api runs, because this one has another role. */
export const elsewhere = (runtime: Runtime): Fetch =>
  appOf(runtime, async () => {
    const processes = await readProcesses(runtime.database);
    const hosts = processes
      .filter(({ running, roles }) => running && roles.includes('api'))
      .map(({ host }) => host);
    const where =
      hosts.length === 0
        ? 'None runs now: start one.'
        : `Ask the operators' listener there: ${[...new Set(hosts)].join(', ')}.`;
    throw noProcess(`This process has not the role api. ${where}`);
  });

/** A configuration with a token for the command line of this machine. @param before has the token that stays valid. */
export const withLocalToken = (config: Config, before?: Config): Config => ({
  ...config,
  localToken: before?.localToken ?? config.localToken ?? createLocalToken().token,
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
