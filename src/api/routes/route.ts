import type { Handler, Hono } from 'hono';
import {
  type Actor,
  type Caller,
  isOperator,
  OPERATOR_ROLES,
  type Operator,
  type OperatorRole,
  requireScope,
} from '../../customers/caller.ts';
import { type ApiEnv, createHandlers, createMiddleware } from '../../http/app.ts';
import { invalid, Problem } from '../../platform/problem.ts';
import type { Audience } from '../openapi/headers.ts';
import { describe, type RouteDescription } from '../openapi/openapi.ts';

/** The table of routes: what each is, who may call it, and what it checks before its handler. */

/** A route: its entry in /openapi.json, its scope and its handler. */
export interface Route extends RouteDescription {
  handle: Handler<ApiEnv>;
}

export interface TableRow extends Route {
  /** Its method and path, such as `GET /v1/accounts/:id`. */
  endpoint: string;
}

/** Adds a route to a table. */
export type AddRoute = (endpoint: string, route: Route) => void;

/** Creates a table of routes. @returns the table, and the function that adds to it. */
export function createTable(): { table: TableRow[]; add: AddRoute } {
  const table: TableRow[] = [];
  return { table, add: (endpoint, route) => void table.push({ ...route, endpoint }) };
}

/** Who may call a route. */
export interface Admission {
  /** The scope that an API key needs. null: no API key is admitted. */
  scope: RouteDescription['scope'] | null;
  /** The least role that an operator needs. null: the route is open to everybody. */
  role: OperatorRole | null;
  /** Whether the route is about one customer, whom an operator has to name. */
  isOfCustomer: boolean;
}

/** Says who may call a route. Operators may call the routes of customers too: a viewer those that change nothing and show no secret. */
export function admissionOf({ endpoint, scope, role, changes, answer }: TableRow): Admission {
  const isOpen = scope === undefined && role === undefined;
  const isHarmless = endpoint.startsWith('GET ') && changes !== true && answer.secrets === undefined;
  return {
    scope: role === undefined ? scope : null,
    role: isOpen ? null : (role ?? (isHarmless ? 'viewer' : 'operator')),
    isOfCustomer: scope !== undefined,
  };
}

/** Adds the routes of a table to an app. @param audience who uses the app. Customers find no route that only operators may call. */
export function addRoutes(app: Hono<ApiEnv>, table: readonly TableRow[], audience: Audience): void {
  for (const row of table) {
    if (audience === 'customers' && row.role !== undefined) continue;
    const [method = '', path = ''] = row.endpoint.split(' ');
    app.on(method, path, ...createHandlers(describe(row, audience), admit(row), row.handle));
  }
}

/** The handlers of a route that everybody may call, for `app.get(path, ...openHandlers(route))`. */
export const openHandlers = ({ handle, ...description }: Route) =>
  createHandlers(describe(description, 'customers'), handle);

/**
 * Checks who calls, and the names of the query parameters: an unknown one is refused, because its sender would believe that it had an effect.
 * @throws {Problem} 403 when the API key lacks the route's scope or sees only some accounts, or the operator lacks the role; 422 for an unknown
 * query parameter, or an operator who names no customer.
 */
function admit(row: TableRow) {
  const { scope, alsoNeeds, wholeKey, changes, answer, idempotent, query } = row;
  const { role, isOfCustomer } = admissionOf(row);
  const known = new Set(Object.keys(query?.entries ?? {}));
  const takes = known.size === 0 ? 'none' : [...known].join(', ');
  const isUncached = answer.secrets !== undefined || changes === true;
  return createMiddleware(async (c, next) => {
    if (role === null) return next();
    const actor = c.get('actor');
    if (isOperator(actor)) requireRole(actor, role);
    if (isOfCustomer) {
      const caller = requireCaller(c.var.caller as Caller | undefined);
      if (scope !== undefined) requireScope(caller, scope);
      if (alsoNeeds !== undefined) requireScope(caller, alsoNeeds);
      if (wholeKey !== undefined) requireWholeKey(caller, wholeKey);
    }
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
    if (isUncached) c.header('Cache-Control', 'no-store');
    if (idempotent === true) return c.get('carryOutOnce')(c, next, answer.secrets);
    return void (await next());
  });
}

/** The operator of a request to a route that only operators may call. */
export function operatorOf(actor: Actor): Operator {
  if (!isOperator(actor)) throw new Error('a route for operators was called with an API key');
  return actor;
}

/** @throws {Problem} 403. */
function requireRole(actor: Operator, role: OperatorRole): void {
  if (OPERATOR_ROLES.indexOf(actor.role) < OPERATOR_ROLES.indexOf(role))
    throw new Problem(
      'missing-role',
      `This needs the role "${role}", and your token has the role "${actor.role}". Use a token with that role.`,
    );
}

/** @throws {Problem} 422 when an operator has not said for which customer. */
function requireCaller(caller: Caller | undefined): Caller {
  if (caller !== undefined) return caller;
  const message = 'is required: the id of a customer, or external_id: and its external id, percent-encoded';
  throw invalid([{ path: 'Ledgerbell-Customer', message }]);
}

/**
 * Protects operations on the customer as a whole.
 * @param remedy a sentence that says what to do instead.
 * @throws {Problem} 403 for a key limited to accounts.
 */
function requireWholeKey({ accountIds }: Caller, remedy: string): void {
  if (accountIds !== 'all')
    throw new Problem('limited-api-key', `This API key is limited to some accounts. ${remedy}`);
}
