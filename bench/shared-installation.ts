import type { Start } from './figure.ts';
import { startInstallation } from './installation.ts';

/**
 * One installation for all figures that need no special options, for runs in which starting them would take longer than the
 * figures themselves. Only the returned `end` stops it.
 * @param start starts the shared installation, and those with special options.
 */
export function createSharedInstallation(start: Start = startInstallation) {
  let shared: ReturnType<Start> | undefined;
  const startShared: Start = async (options) => {
    if (options !== undefined) return start(options);
    shared ??= start();
    return { ...(await shared), end: async () => {} };
  };
  return { start: startShared, end: async () => (await shared)?.end() };
}
