import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, Hono, type Next } from 'hono';
import { createFactory } from 'hono/factory';
import { HTTPException } from 'hono/http-exception';
import { requestId } from 'hono/request-id';
import { routePath } from 'hono/route';
import { TrieRouter } from 'hono/router/trie-router';
import { secureHeaders } from 'hono/secure-headers';
import ipaddr from 'ipaddr.js';
import type { Actor, Caller } from '../customers/caller.ts';
import { mysqlProblem } from '../database/errors.ts';
import type { Runtime } from '../database/runtime.ts';
import { type Address, contains, parseCidr, type Range } from '../platform/address-ranges.ts';
import { type Config, isLoopback } from '../platform/config.ts';
import type { Log } from '../platform/log.ts';
import { notFound, PROBLEMS, Problem } from '../platform/problem.ts';
import type { Span } from '../platform/tracing.ts';

/** What all apps share: the values of a request, its id, the client's address, the request log, and the answers to errors. */

/**
 * Carries out a POST with an Idempotency-Key once.
 * @param secrets the paths of the answer's members that hold secrets. The secrets are not stored.
 */
export type CarryOutOnce = (
  c: Context<ApiEnv>,
  next: Next,
  secrets: readonly string[] | undefined,
) => Promise<Response | undefined>;

/** Values that middleware provides to the handlers. */
export interface ApiEnv {
  /** Node's own request and response. */
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The address of the client; see `createClientFinder`. */
    clientAddress: string | undefined;
    /** Another process of the service, which passes the request on, has said whether it comes from this machine. */
    isLocal?: boolean;
    /** Who makes the request: an API key, or an operator. */
    actor: Actor;
    /** For whom. Only on routes about a customer. */
    caller: Caller;
    /** @throws {Problem} 401 when the caller's API key, or the operator's token, has been deleted since the request began. */
    requireKey: () => Promise<void>;
    carryOutOnce: CarryOutOnce;
    /** Ends the counting of the request as one in flight, because it now waits for events. `undefined`: no limit counts it. */
    leaveFlight?: () => void;
    /** The request's span; `undefined` while traces are off. */
    span?: Span;
  };
}

/** The customer of a request. undefined: the caller is not identified yet, or an operator acts for no customer. */
export const customerOf = (c: Context<ApiEnv>): string | undefined =>
  (c.var.caller as Caller | undefined)?.customerId;

/** Combines a route's middleware and handler, with their types: `app.get(path, ...createHandlers(describe, handler))`. */
export const { createHandlers, createMiddleware } = createFactory<ApiEnv>();

/** Creates an app with the parts that all listeners share: request ids, the client's address, the request log and error answers. */
export function createBaseApp({ config, log }: Pick<Runtime, 'config' | 'log'>): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.use(requestId(), identifyClient(config), requestLog(log));
  app.onError((error, c) => answerError(error, c, log));
  return app;
}

/**
 * Answers requests that no route has handled: 405 with Allow (RFC 9110, section 15.5.6) if the path exists for other methods,
 * otherwise 404. Call this after the last route.
 */
export function answerUnrouted(app: Hono<ApiEnv>): void {
  const methods = new TrieRouter<string>();
  const known = new Set<string>();
  for (const { method, path } of app.routes) {
    if (method === 'ALL') continue;
    methods.add(method, path, method);
    known.add(method);
  }
  app.notFound((c) => {
    const allowed = [...known].filter((method) => methods.match(method, c.req.path)[0].length > 0);
    // If the path takes the method, its route found nothing, for example because a file of a page is missing.
    if (allowed.length === 0 || allowed.includes(c.req.method)) throw notFound('path');
    throw new Problem('method-not-allowed', `This path takes ${allowed.join(', ')}.`, {
      headers: { Allow: allowed.join(', ') },
    });
  });
}

/** Sets `clientAddress`. Another process of the service, which knows the local token, tells it of a request that it passes on. */
function identifyClient({ trustedProxies, localToken }: Pick<Config, 'trustedProxies' | 'localToken'>) {
  const findClient = createClientFinder(trustedProxies);
  return createMiddleware(async (c, next) => {
    const told = localToken === undefined ? null : openOrigin(c, localToken);
    if (told === null)
      c.set('clientAddress', findClient(getConnInfo(c).remote.address, c.req.header('x-forwarded-for')));
    else {
      c.set('clientAddress', told.clientAddress);
      c.set('isLocal', told.isLocal);
    }
    await next();
  });
}

/** From where a request comes that another process passes on: `<HMAC-SHA256> <local|remote> <address>`. */
const ORIGIN = 'ledgerbell-origin';

/** The header that tells another process of the service from where a request comes. @param secret that both know. */
export function sealOrigin(c: Context<ApiEnv>, secret: string): Record<string, string> {
  const origin = `${isFromThisMachine(c) ? 'local' : 'remote'} ${c.get('clientAddress') ?? ''}`;
  return { [ORIGIN]: `${macOf(origin, secret)} ${origin}` };
}

/** @returns null when the request has no such header, or none of a process that knows the secret. */
function openOrigin(
  c: Context<ApiEnv>,
  secret: string,
): { clientAddress: string | undefined; isLocal: boolean } | null {
  const header = c.req.header(ORIGIN);
  if (header === undefined) return null;
  const [, mac = '', origin = ''] = /^([0-9a-f]{64}) (.*)$/.exec(header) ?? [];
  if (mac === '' || !timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(origin, secret)))) return null;
  const [where, address] = origin.split(' ');
  return { clientAddress: address || undefined, isLocal: where === 'local' };
}

const macOf = (text: string, secret: string): string =>
  createHmac('sha256', secret).update(text).digest('hex');

const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Says whether a request comes from this machine. Checking the address is not enough, because a proxy on this machine also connects
 * from loopback. So does a local browser when a foreign page uses a host name that resolves to this machine.
 */
export const isFromThisMachine = (c: Context<ApiEnv>): boolean =>
  c.get('isLocal') ??
  (isLoopback(getConnInfo(c).remote.address ?? '') &&
    LOOPBACK_HOST.test(c.req.header('host') ?? '') &&
    FORWARDED.every((name) => c.req.header(name) === undefined));

/**
 * Creates a function that finds the address from which a request comes. Each proxy appends the address of its own client to
 * `X-Forwarded-For`. The entries before it may be forged. The list is therefore read from its end while the address found so far
 * belongs to a trusted proxy. Reading ends at an entry that is not a plain IP address.
 *
 * The function takes the address of the connection and the header. It returns IPv4-mapped addresses as IPv4, and `undefined`
 * when the connection is already gone.
 * @param trustedProxies CIDR ranges of proxies whose `X-Forwarded-For` is believed (TRUSTED_PROXIES).
 */
export function createClientFinder(trustedProxies: readonly string[]) {
  const trusted = trustedProxies.map(parseCidr).map(unmapRange);
  const isTrusted = (address: Address) => trusted.some((range) => contains(range, address));
  return (remote: string | undefined, forwardedFor: string | undefined): string | undefined => {
    const entries = trusted.length === 0 ? [] : (forwardedFor?.split(',') ?? []);
    let client = parseAddress(remote);
    while (client !== undefined && isTrusted(client)) {
      const previous = parseAddress(entries.pop()?.trim());
      if (previous === undefined) break;
      client = previous;
    }
    return client?.toString();
  };
}

function parseAddress(text: string | undefined): Address | undefined {
  // ipaddr.js alone would also read "10" and "0x7f.1" as addresses.
  return text === undefined || isIP(text) === 0 ? undefined : ipaddr.process(text);
}

/** Converts a range of IPv4-mapped addresses to the IPv4 range, because addresses are compared as IPv4. */
function unmapRange([address, bits]: Range): Range {
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [address.toIPv4Address(), bits - 96] : [address, bits];
}

/**
 * The pattern of the route that has handled a request, such as `/v1/webhooks/:id`. `undefined` if none has, because then only the
 * patterns of middleware match.
 */
export function routeOf(c: Context): string | undefined {
  const pattern = routePath(c, -1);
  return pattern.includes('*') ? undefined : pattern;
}

/** Logs one line per request. Leaves out path, query, headers and body, because they may hold names, account data and keys. */
const requestLog = (log: Log) =>
  createMiddleware(async (c, next) => {
    const started = performance.now();
    await next();
    const durationMs = Math.round(performance.now() - started);
    const { requestId, clientAddress } = c.var;
    const customerId = customerOf(c);
    const { method } = c.req;
    const { status } = c.res;
    log.info(
      { requestId, clientAddress, customerId, method, route: routeOf(c), status, durationMs },
      'request',
    );
  });

type Policy = NonNullable<NonNullable<Parameters<typeof secureHeaders>[0]>['contentSecurityPolicy']>;

/**
 * Security headers for HTML pages and their files. The API's JSON needs none.
 * @param policy sources that the page may load from. By default its own host alone, and pictures that the page holds itself.
 */
export const pageHeaders = (policy: Policy = {}) =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      ...policy,
    },
    // With the default, no-referrer, browsers send `Origin: null` with a page's own forms, and the forms would be refused.
    referrerPolicy: 'same-origin',
    // The proxy that terminates TLS decides this for the whole host.
    strictTransportSecurity: false,
  });

/** One name for all addresses that one client can easily use: the IPv4 address, or the /64 of an IPv6 address. */
export function nameClient(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

const RETRY_AFTER_SECONDS = '5';

/** Answers an error that a handler threw as application/problem+json (RFC 9457). */
export function answerError(error: unknown, c: Context<ApiEnv>, log: Log): Response {
  if (error instanceof Problem) return answerProblem(error, c);
  if (error instanceof HTTPException) {
    return answerProblem(
      new Problem(error.status === 413 ? 'too-large' : 'malformed', 'The request could not be read.'),
      c,
    );
  }
  const requestId = c.get('requestId');
  const problem = mysqlProblem(error);
  if (problem !== null) {
    log.warn({ err: error, requestId }, `MySQL ${problem}`);
    const detail = `MySQL ${problem}. Send the request again later, a POST with the same Idempotency-Key.`;
    return answerProblem(
      new Problem('database-unavailable', detail, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } }),
      c,
    );
  }
  log.error({ err: error, requestId }, 'request failed');
  return answerProblem(
    new Problem('internal', `The request failed. Report its id to the operator: ${requestId}.`),
    c,
  );
}

function answerProblem(problem: Problem, c: Context<ApiEnv>): Response {
  return c.body(renderProblem(problem, c.get('requestId')), PROBLEMS[problem.problem].status, {
    ...problem.headers,
    'Content-Type': PROBLEM_TYPE,
  });
}

export const PROBLEM_TYPE = 'application/problem+json';

/** Renders the body of an error. Also used for requests that never reach the app. */
export function renderProblem(
  { problem, message: detail, errors }: Pick<Problem, 'problem' | 'message' | 'errors'>,
  requestId: string,
): string {
  const { status, title } = PROBLEMS[problem];
  return JSON.stringify({
    type: `/problems/${problem}`,
    title,
    status,
    detail,
    message: detail,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
  });
}
