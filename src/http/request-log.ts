import type { Log } from '../log.ts';
import { createMiddleware } from './environment.ts';

/** Logs one line per request. Query, headers and body are left out, because they may hold account data and keys. */
export const requestLog = (log: Log) =>
  createMiddleware(async (c, next) => {
    const started = performance.now();
    await next();
    const { method, path } = c.req;
    const durationMs = Math.round(performance.now() - started);
    const { requestId, clientAddress } = c.var;
    log.info({ requestId, clientAddress, method, path, status: c.res.status, durationMs }, 'request');
  });
