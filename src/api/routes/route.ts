import type { Handler, Hono } from 'hono';
import { type Caller, requireScope } from '../../customers/caller.ts';
import { type ApiEnv, createHandlers, createMiddleware } from '../../http/app.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import { describe, type RouteDescription } from '../openapi/openapi.ts';

/** How the files of routes add a route, and what a route checks before its handler. */

/** A route: its entry in /openapi.json, its scope and its handler. */
export interface Route extends RouteDescription {
  handle: Handler<ApiEnv>;
}

/** Adds a route to an app. @param endpoint the method and the path, such as `GET /v1/accounts/:id`. */
export type AddRoute = (endpoint: string, route: Route) => void;

/** Creates a function that adds routes to an app. */
export const routesOf =
  (app: Hono<ApiEnv>): AddRoute =>
  (endpoint, route) => {
    const [method = '', path = ''] = endpoint.split(' ');
    app.on(method, path, ...handlersOf(route));
  };

/**
 * The handlers of a route, for `app.get(path, ...handlersOf(route))`. They refuse query parameters that the route does not name, because
 * the sender would believe that they had an effect.
 */
export const handlersOf = ({ handle, ...description }: Route) =>
  createHandlers(describe(description), admit(description), (c, next) => {
    const { wholeKey } = description;
    if (wholeKey !== undefined) requireWholeKey(c.get('caller'), wholeKey);
    return handle(c, next);
  });

/** @throws {Problem} 403 when the API key lacks the route's scope, 422 for an unknown query parameter. */
const admit = (description: RouteDescription) => {
  const { scope, alsoNeeds, answer, idempotent, query } = description;
  const known = new Set(Object.keys(query?.entries ?? {}));
  const takes = known.size === 0 ? 'none' : [...known].join(', ');
  return createMiddleware(async (c, next) => {
    if (scope === undefined) return next();
    requireScope(c.get('caller'), scope);
    if (alsoNeeds !== undefined) requireScope(c.get('caller'), alsoNeeds);
    if (c.req.url.includes('?')) {
      const unknown = Object.keys(c.req.query()).find((name) => !known.has(name));
      if (unknown !== undefined)
        throw invalid([
          {
            path: unknown.slice(0, 100),
            message: `is not a known query parameter. This route takes: ${takes}`,
          },
        ]);
    }
    // No cache may store a response with a secret, or answer in place of a request that changes something.
    if (answer.secret !== undefined || answer.isUncached === true) c.header('Cache-Control', 'no-store');
    if (idempotent === true) return c.get('carryOutOnce')(c, next, answer.secret);
    return void (await next());
  });
};

/**
 * Protects operations on the customer as a whole.
 * @param remedy a sentence that says what to do instead.
 * @throws {Problem} 403 for a key limited to accounts.
 */
function requireWholeKey({ accountIds }: Caller, remedy: string): void {
  if (accountIds !== 'all')
    throw new Problem('limited-api-key', `This API key is limited to some accounts. ${remedy}`);
}
