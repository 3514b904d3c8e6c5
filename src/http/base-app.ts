import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { TrieRouter } from 'hono/router/trie-router';
import type { Runtime } from '../runtime.ts';
import { identifyClient } from './client-address.ts';
import type { ApiEnv } from './environment.ts';
import { answerError, notFound, Problem } from './problem.ts';
import { requestLog } from './request-log.ts';

/** Creates an app with what all listeners share: request ids, the client's address, the request log and error answers. */
export function createBaseApp({ config, log }: Pick<Runtime, 'config' | 'log'>): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.use(requestId(), identifyClient(config.trustedProxies), requestLog(log));
  app.onError((error, c) => answerError(error, c, log));
  return app;
}

/**
 * Answers requests that no route has taken: 405 with Allow (RFC 9110, section 15.5.6) if the path exists for other methods,
 * else 404. Call it after the last route.
 */
export function answerUnrouted(app: Hono<ApiEnv>): void {
  const methods = new TrieRouter<string>();
  const known = new Set<string>();
  for (const { method, path } of app.routes) {
    if (method === 'ALL') continue;
    methods.add(method, path, method);
    known.add(method);
  }
  app.notFound((c) => {
    const allowed = [...known].filter((method) => methods.match(method, c.req.path)[0].length > 0);
    // If the path does take the method, its route found nothing, such as a missing file of a page: 404.
    if (allowed.length === 0 || allowed.includes(c.req.method)) throw notFound('path');
    throw new Problem('method-not-allowed', `This path takes ${allowed.join(', ')}.`, {
      headers: { Allow: allowed.join(', ') },
    });
  });
}
