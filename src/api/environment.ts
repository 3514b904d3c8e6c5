import type { HttpBindings } from '@hono/node-server';
import type { Context, Next } from 'hono';
import { createFactory } from 'hono/factory';
import type { Caller } from '../customers/caller.ts';
import type { Span } from '../platform/tracing/tracing.ts';

/**
 * Carries out a POST with an Idempotency-Key once.
 * @param secret the path of the member of the answer that holds a secret, which is not kept.
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
    /** The address that the request comes from; see `createClientFinder`. */
    clientAddress: string | undefined;
    caller: Caller;
    /** @throws {Problem} 401 when the caller's API key has been deleted since the request began. */
    requireKey: () => Promise<void>;
    carryOutOnce: CarryOutOnce;
    /** The request's span; `undefined` while traces are off. */
    span?: Span;
  };
}

/** Combines a route's middleware and handler with their types: `app.get(path, ...createHandlers(describe, handler))`. */
export const { createHandlers, createMiddleware } = createFactory<ApiEnv>();
