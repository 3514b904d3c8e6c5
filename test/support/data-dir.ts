import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A DATA_DIR of its own, in the directory of the run. Commands find the local token of the service there. */
export const newDataDir = (): string => join(inject('directory'), randomUUID());
