import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import * as v from 'valibot';
import { actFor, type Operator } from '../customers/caller.ts';
import { ExternalId } from '../customers/customer-view.ts';
import { type CustomerName, requireCustomer, requireKept } from '../customers/find-customers.ts';
import { findTokenOperator } from '../customers/operator-tokens.ts';
import type { Runtime } from '../database/runtime.ts';
import { invalid, Problem } from '../platform/problem.ts';
import { cutCharacters } from '../platform/text.ts';
import { digestOf, OPERATOR_TOKEN_PREFIX } from '../platform/tokens.ts';
import { Id } from '../platform/whole-numbers.ts';
import { bearer, type Guesses, limitGuesses } from './admission.ts';
import { type ApiEnv, createMiddleware, isFromThisMachine } from './app.ts';

/** Identifies operators by their tokens, and the customers for whom they act. */

/** As for passwords of the console. */
const GUESSES: Guesses = {
  problem: 'too-many-unknown-tokens',
  words: "unknown operators' tokens",
  limit: 10,
  windowSeconds: 60,
};

/**
 * Identifies the operator by the token in `Authorization: Bearer`, and the customer of `Ledgerbell-Customer`, if the request has it.
 * @param localToken the token of this machine's command line, which works only from this machine. undefined: there is none.
 * @throws {Problem} 401 for a missing or unknown token, 429 for too many; 422 for a customer's name that cannot be one, 404 for an unknown
 * one, 409 for a change of a customer that is being deleted.
 */
export function identifyOperator({ config, database, redis, prefix }: Runtime) {
  const attempt = limitGuesses<Operator>({ redis, prefix }, GUESSES);
  const { localToken } = config;
  const localDigest = localToken === undefined ? undefined : digestOf(localToken);
  return createMiddleware(async (c, next) => {
    const token = bearer(c.req.header('authorization'), { schemeRequired: true });
    if (token === null)
      throw unauthenticated(
        'missing-operator-token',
        "Send an operator's token as Authorization: Bearer lbop_….",
      );
    if (!token.startsWith(OPERATOR_TOKEN_PREFIX))
      throw unauthenticated(
        'missing-operator-token',
        "This is no operator's token, which begins with lbop_. An API key of a customer works only at the address of the API.",
      );
    const hash = digestOf(token);
    const isLocal = localDigest !== undefined && isFromThisMachine(c) && timingSafeEqual(hash, localDigest);
    const find = () => findTokenOperator(database, hash);
    const operator = isLocal
      ? localOperator(c)
      : await attempt({ hash, address: c.get('clientAddress'), find });
    if (operator === null) throw unknownToken();
    c.set('actor', operator);
    c.set('requireKey', async () => {
      if (!isLocal && (await find()) === null) throw unknownToken();
    });
    const named = c.req.header('ledgerbell-customer');
    if (named !== undefined) {
      const customer = await requireCustomer(database, parseCustomerName(named));
      if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireKept(customer);
      c.set('caller', actFor(customer.id, operator));
    }
    await next();
  });
}

const unauthenticated = (problem: 'missing-operator-token' | 'unknown-operator-token', detail: string) =>
  // RFC 9110, section 11.6.1: a 401 must name an accepted scheme.
  new Problem(problem, detail, { headers: { 'WWW-Authenticate': 'Bearer realm="ledgerbell operators"' } });

const unknownToken = () =>
  unauthenticated(
    'unknown-operator-token',
    "This operator's token does not exist. It may be mistyped, it was deleted, or it has expired.",
  );

const MOST_OF_NAME = 255;

/** The headers that name the person, beside the local token. */
export const operatorHeaders = ({ source, name }: Operator): Record<string, string> => ({
  'ledgerbell-user': encodeURIComponent(name),
  ...(source === 'console' ? { 'ledgerbell-source': source } : {}),
});

/** The person at the command line or at the console, as it says, for the audit log. Whoever has the local token may do everything. */
function localOperator(c: Context<ApiEnv>): Operator {
  const source = c.req.header('ledgerbell-source') === 'console' ? 'console' : 'command line';
  const name = decode(c.req.header('ledgerbell-user') ?? '').replace(/\p{Cc}/gu, '');
  return { source, name: cutCharacters(name, MOST_OF_NAME) || 'this machine', role: 'admin' };
}

const EXTERNAL = 'external_id:';
const NAME_RULE = 'must be the id of a customer, or external_id: and its external id, percent-encoded';

/**
 * Parses `Ledgerbell-Customer`: `17`, or `external_id:acme%2017`.
 * @throws {Problem} 422.
 */
export function parseCustomerName(text: string): CustomerName {
  if (text.startsWith(EXTERNAL)) {
    const externalId = v.safeParse(ExternalId, decode(text.slice(EXTERNAL.length)));
    if (externalId.success) return { externalId: externalId.output };
  } else {
    const id = v.safeParse(Id, text);
    if (id.success) return { id: id.output };
  }
  throw invalid([{ path: 'Ledgerbell-Customer', message: NAME_RULE }]);
}

/** @returns an empty text if the percent-encoding is wrong (RFC 3986, section 2.1). */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
