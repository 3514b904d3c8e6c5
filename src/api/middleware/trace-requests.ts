import { routePath } from 'hono/route';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import { createMiddleware } from '../environment.ts';

/** Methods that are named. Others count as one, because a client can invent any number of them. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Makes a span of each request, and continues the trace of a client that sends `traceparent`. Comes after authentication: who has no
 * API key must not fill the exporter's queue. Neither query, headers nor body become attributes.
 */
export const traceRequests = (tracing: Tracing) =>
  createMiddleware(async (c, next) => {
    const isNamed = METHODS.includes(c.req.method);
    const method = isNamed ? c.req.method : '_OTHER';
    const name = isNamed ? method : 'HTTP';
    const { protocol, hostname, port } = new URL(c.req.url);
    const span = tracing.begin({
      name,
      kind: 'server',
      parent: c.req.header('traceparent'),
      attributes: {
        'http.request.method': method,
        'url.scheme': protocol.slice(0, -1),
        'url.path': c.req.path,
        'server.address': hostname,
        ...(port === '' ? {} : { 'server.port': Number(port) }),
        'ledgerbell.customer.id': Number(c.get('caller').customerId),
      },
    });
    c.set('span', span);
    await next();
    const { status } = c.res;
    const route = routePath(c, -1);
    // Of a path that no route has taken, only the patterns of middleware match.
    if (!route.includes('*')) {
      span.rename(`${name} ${route}`);
      span.set({ 'http.route': route });
    }
    span.set({ 'http.response.status_code': status });
    span.end(status >= 500 ? { type: String(status) } : undefined);
  });
