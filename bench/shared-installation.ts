import type { Start } from './figure.ts';
import { startInstallation } from './installation.ts';

/**
 * One installation for all figures that want an ordinary one, for runs in which starting them would take longer than the
 * figures. Only the last `end`, the one beside `start`, ends it.
 * @param start starts the one that is shared.
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
