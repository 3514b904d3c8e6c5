import { Readable } from 'node:stream';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { actFor, type Caller, type Operator } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { type ApiEnv, createMiddleware } from '../http/app.ts';
import { READ_SETTINGS } from '../intake/advice.ts';
import { createAddressGuard } from '../platform/address-guard.ts';
import { Problem } from '../platform/problem.ts';
import { createApp } from './routes/app.ts';

/** Calls the routes of the API within this process, for an operator. */

/** A request to the API that an operator makes for a customer. */
interface OperatorRequest {
  customerId: string;
  operator: Operator;
  method: string;
  /** With the query string. */
  path: string;
  headers?: Record<string, string>;
  body?: Readable | Buffer;
  /** Ends the waiting of a request when it is aborted. */
  signal?: AbortSignal;
}

/**
 * Creates a function that sends a request to the API's own routes within this process, so that their rules also apply to operators.
 * This needs no API key and no listener.
 */
export function createOperatorApi(runtime: Runtime): (request: OperatorRequest) => Promise<Response> {
  const { config } = runtime;
  const callers = new WeakMap<object, Caller>();
  const identify = createMiddleware(async (c, next) => {
    const caller = callers.get(c.env.incoming);
    if (caller === undefined) throw new Problem('unauthenticated', 'This request has no operator.');
    c.set('actor', caller.actor);
    c.set('caller', caller);
    c.set('requireKey', async () => {});
    await next();
  });
  const guard = createAddressGuard({ allow: config.allowPrivateEndpoints });
  // An import needs an API key, so no files are read here.
  const reader = createStatementFormats([], READ_SETTINGS);
  const app = createApp({ ...runtime, config: { ...config, rateLimit: 0 } }, { guard, reader }, identify);
  return async function request({ customerId, operator, method, path, headers = {}, body, ...init }) {
    // Routes read the body from Node's request, so a stand-in is passed to them.
    const parts = body === undefined ? [] : Buffer.isBuffer(body) ? [body] : body;
    const incoming = Object.assign(Readable.from(parts), { socket: {}, headers: {} });
    callers.set(incoming, actFor(customerId, operator));
    const bindings = { incoming, outgoing: {} } as unknown as ApiEnv['Bindings'];
    return app.request(path, { method, headers, ...init }, bindings);
  };
}
