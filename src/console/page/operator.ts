import type { Context } from 'hono';
import * as v from 'valibot';
import { createOperatorApi } from '../../api/within-process.ts';
import { actFor, type Caller, type Operator } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { notFound, PROBLEMS, Problem, type ProblemName } from '../../platform/problem.ts';

/** The console makes changes, and lists movements, through the API's own routes, on behalf of the customer. */

export interface ConsoleContext {
  runtime: Runtime;
  callApi: ReturnType<typeof createOperatorApi>;
}

export const createConsoleContext = (runtime: Runtime): ConsoleContext => ({
  runtime,
  callApi: createOperatorApi(runtime),
});

/** The operator at the console: the name of the sign-in, or the address of the client if no password is set. */
export function operatorOf(c: Context<ApiEnv>, { config }: Pick<Runtime, 'config'>): Operator {
  const name = config.admin?.user ?? `${c.get('clientAddress') ?? 'this machine'}`;
  return { source: 'console', name, role: 'admin' };
}

/** The caller for reading and changing the things of a customer. */
export const callerFor = (c: Context<ApiEnv>, runtime: Runtime, customerId: string): Caller =>
  actFor(customerId, operatorOf(c, runtime));

/** Index of each: the primary key. */
const OWNER = {
  webhook: 'SELECT customer_id FROM webhooks WHERE id = ?',
  import: 'SELECT customer_id FROM imports WHERE id = ?',
  movement: 'SELECT customer_id FROM transactions WHERE id = ?',
  conflict: 'SELECT customer_id FROM movement_conflicts WHERE id = ?',
} as const;

/** Finds the customer to whom something belongs. @throws {Problem} 404 when it does not exist. */
export async function findOwner(sql: Sql, kind: keyof typeof OWNER, id: string): Promise<string> {
  const [row] = await sql.query<{ customer_id: string }[]>(OWNER[kind], [id]);
  if (row === undefined) throw notFound(kind);
  return row.customer_id;
}

interface ApiRequest {
  method: string;
  /** With the query string. */
  path: string;
  body?: object | undefined;
}

/**
 * Sends a request to the API within this process, for a customer.
 * @returns a success.
 * @throws {Problem} if the API has refused the request, with the API's words.
 */
export async function requestFor(
  c: Context<ApiEnv>,
  { runtime, callApi }: ConsoleContext,
  customerId: string,
  { method, path, body }: ApiRequest,
): Promise<Response> {
  const response = await callApi({
    customerId,
    operator: operatorOf(c, runtime),
    method,
    path,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) }),
  });
  if (response.ok) return response;
  const { type, detail, errors } = v.parse(ProblemAnswer, await response.json());
  const name = type.replace('/problems/', '');
  throw new Problem(isProblemName(name) ? name : 'internal', detail, errors === undefined ? {} : { errors });
}

/** Sends a request as `requestFor` does. @returns the body of a success. */
export async function callApiFor(...request: Parameters<typeof requestFor>): Promise<unknown> {
  return (await requestFor(...request)).json();
}

const ProblemAnswer = v.object({
  type: v.string(),
  detail: v.string(),
  errors: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

const isProblemName = (name: string): name is ProblemName => name in PROBLEMS;
