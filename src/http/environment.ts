import type { HttpBindings } from '@hono/node-server';
import { createFactory } from 'hono/factory';
import type { Span } from '../tracing/tracing.ts';
import type { Scope } from './scopes.ts';

/**
 * Who acts for a customer without an API key: the name that the person has on the command line or at the console, or the variable of the
 * configuration.
 */
export interface Operator {
  source: 'console' | 'command line' | 'configuration';
  name: string;
}

/** The customer and the API key that a request is made with. */
export interface Caller {
  customerId: string;
  apiKeyId: string;
  /** The accounts that the key may see. */
  accountIds: 'all' | readonly string[];
  scopes: readonly Scope[];
  /** Set where no API key is used. */
  operator?: Operator;
}

/** What middleware provides to the handlers. */
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
    /** The request's span; `undefined` while traces are off. */
    span?: Span;
  };
}

/** Combines a route's middleware and handler with their types: `app.get(path, ...createHandlers(describe, handler))`. */
export const { createHandlers, createMiddleware } = createFactory<ApiEnv>();

/** Whether a caller's key may see an account of its customer. */
export const maySee = ({ accountIds }: Caller, accountId: string): boolean =>
  accountIds === 'all' || accountIds.includes(accountId);
