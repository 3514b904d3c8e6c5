import type { Tracing } from '../../platform/tracing.ts';
import { createMiddleware, customerOf, routeOf } from '../app.ts';

/** Methods that a span names. All other methods get one common name, because a client can invent any number of methods. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Makes a span for each request, and continues the trace of a client that sends `traceparent`. Comes after authentication, so that
 * clients without an API key cannot fill the exporter's queue. Query, headers and body do not become attributes.
 */
export const traceRequests = (tracing: Tracing) =>
  createMiddleware(async (c, next) => {
    const isNamed = METHODS.includes(c.req.method);
    const method = isNamed ? c.req.method : '_OTHER';
    const name = isNamed ? method : 'HTTP';
    const customerId = customerOf(c);
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
        ...(customerId === undefined ? {} : { 'ledgerbell.customer.id': Number(customerId) }),
      },
    });
    c.set('span', span);
    await next();
    const { status } = c.res;
    const route = routeOf(c);
    if (route !== undefined) {
      span.rename(`${name} ${route}`);
      span.set({ 'http.route': route });
    }
    span.set({ 'http.response.status_code': status });
    span.end(status >= 500 ? { type: String(status) } : undefined);
  });
