import type { Log } from '../log.ts';
import { createMiddleware } from './environment.ts';

/** Logs one line per request. Query, headers and body are left out, because they may hold account data and keys. */
export const requestLog = (log: Log) =>
  createMiddleware(async (c, next) => {
    const started = performance.now();
    await next();
    const { method, path } = c.req;
    const durationMs = Math.round(performance.now() - started);
    log.info({ requestId: c.get('requestId'), method, path, status: c.res.status, durationMs }, 'request');
  });
