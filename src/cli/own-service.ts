import { type Config, ROLES } from '../platform/config.ts';
import { createLog } from '../platform/log.ts';
import { type Service, startService } from '../service.ts';

/** Starts the whole service for one command, on free ports and without a log. */
export const startOwnService = (config: Config, announce: (line: string) => void): Promise<Service> =>
  startService({
    config: { ...config, port: 0, opsPort: 0 },
    roles: ROLES,
    log: createLog('silent'),
    announce,
  });
