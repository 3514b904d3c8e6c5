import type { Context } from 'hono';
import * as v from 'valibot';
import { actFor, type Caller, type Operator } from '../../customers/caller.ts';
import { findOwner, type OwnedKind } from '../../customers/owner.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { relay, toProblem } from '../../http/forward.ts';
import { operatorHeaders } from '../../http/operators.ts';
import { notFound, PROBLEMS, Problem, type ProblemName } from '../../platform/problem.ts';
import { type FindApi, refuse } from '../operators-api.ts';

/** The console makes changes, and lists movements, through the operators' API, on behalf of the customer if it is about one. */

export interface ConsoleContext {
  runtime: Runtime;
  findApi: FindApi;
}

export const createConsoleContext = (runtime: Runtime, findApi: FindApi): ConsoleContext => ({
  runtime,
  findApi,
});

/** The operator at the console: the name of the sign-in, or the address of the client if no password is set. */
export function operatorOf(c: Context<ApiEnv>, { config }: Pick<Runtime, 'config'>): Operator {
  const name = config.admin?.user ?? `${c.get('clientAddress') ?? 'this machine'}`;
  return { source: 'console', name, role: 'admin' };
}

/** The caller for reading and changing the things of a customer. */
export const callerFor = (c: Context<ApiEnv>, runtime: Runtime, customerId: string): Caller =>
  actFor(customerId, operatorOf(c, runtime));

/** Finds the customer to whom something belongs. @param words for the kind. @throws {Problem} 404 when it does not exist. */
export async function requireOwner(sql: Sql, kind: OwnedKind, id: string, words: string): Promise<string> {
  const owner = await findOwner(sql, kind, id);
  if (owner === null) throw notFound(words);
  return owner;
}

interface ApiRequest {
  method: string;
  /** With the query string. */
  path: string;
  body?: object | undefined;
}

/**
 * Sends a request to the operators' API.
 * @param customerId for whom; null: for no customer.
 * @returns a success.
 * @throws {Problem} if the API has refused the request, with the API's words; 503 when no process with the role api answers.
 */
export async function requestFor(
  c: Context<ApiEnv>,
  { runtime, findApi }: ConsoleContext,
  customerId: string | null,
  { method, path, body }: ApiRequest,
): Promise<Response> {
  const url = findApi() ?? (await refuse(runtime));
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${runtime.config.localToken}`,
      ...(customerId === null ? {} : { 'ledgerbell-customer': customerId }),
      ...operatorHeaders(operatorOf(c, runtime)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    signal: c.req.raw.signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    c.req.raw.signal.throwIfAborted();
    runtime.log.warn({ err: error }, 'the console could not reach the API');
    throw toProblem(error instanceof Error ? error.cause : error);
  });
  if (response.ok) return withOwnHeaders(c, response);
  const { type, detail, errors } = v.parse(ProblemAnswer, await response.json());
  const name = type.replace('/problems/', '');
  throw new Problem(isProblemName(name) ? name : 'internal', detail, errors === undefined ? {} : { errors });
}

/** An answer of `fetch` whose headers can be changed, without those of its connection. */
function withOwnHeaders(c: Context<ApiEnv>, { body, status, headers }: Response): Response {
  const own = new Headers(headers);
  for (const name of ['connection', 'keep-alive', 'transfer-encoding']) own.delete(name);
  return new Response(body && relay(body, c.env.outgoing), { status, headers: own });
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
