import type { HttpBindings } from '@hono/node-server';
import type { Context, Next } from 'hono';
import { createFactory } from 'hono/factory';
import type { Caller } from '../customers/caller.ts';
import type { Span } from '../platform/tracing.ts';

/**
 * Carries out a POST with an Idempotency-Key once.
 * @param secret the path of the answer's member that holds a secret. The secret is not stored.
 */
export type CarryOutOnce = (
  c: Context<ApiEnv>,
  next: Next,
  secret: string | undefined,
) => Promise<Response | undefined>;

/** Values that middleware provides to the handlers. */
export interface ApiEnv {
  /** Node's own request and response. */
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The address of the client; see `createClientFinder`. */
    clientAddress: string | undefined;
    caller: Caller;
    /** @throws {Problem} 401 when the caller's API key has been deleted since the request began. */
    requireKey: () => Promise<void>;
    carryOutOnce: CarryOutOnce;
    /** The request's span; `undefined` while traces are off. */
    span?: Span;
  };
}

/** Combines a route's middleware and handler, with their types: `app.get(path, ...createHandlers(describe, handler))`. */
export const { createHandlers, createMiddleware } = createFactory<ApiEnv>();
