import { startInstallation } from './installation.ts';

/**
 * One installation for all figures that want an ordinary one, for runs in which starting them would take longer than the
 * figures. Only the last `end`, the one beside `start`, ends it.
 */
export function createSharedInstallation() {
  let shared: ReturnType<typeof startInstallation> | undefined;
  const start: typeof startInstallation = async (options) => {
    if (options !== undefined) return startInstallation(options);
    shared ??= startInstallation();
    return { ...(await shared), end: async () => {} };
  };
  return { start, end: async () => (await shared)?.end() };
}
