import { parseServerUrl, type ServerUrl } from './server-url.ts';

const FORM = {
  protocols: ['redis:', 'rediss:'],
  path: /^(\/\d*)?$/,
  example: 'redis://:password@host:6379/0',
  parameters: ['socketPath'],
};

/**
 * Parses `redis://:password@host:6379/0`, `rediss://…` for TLS, or with `?socketPath=FILE`.
 * @throws {Error} that says what REDIS_URL must be, without any value of it.
 */
export const parseRedisUrl = (text: string): ServerUrl => parseServerUrl(text, FORM);
