import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, MiddlewareHandler } from 'hono';
import { LRUCache } from 'lru-cache';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { DataSource } from 'typeorm';
import { apiKeyOf, type Caller, isOperator, parseScopes } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { createBatcher } from '../platform/batcher.ts';
import { Problem, type ProblemName } from '../platform/problem.ts';
import type { RedisClient } from '../platform/redis.ts';
import { digestOf, OPERATOR_TOKEN_PREFIX } from '../platform/tokens.ts';
import { createCarryOutOnce } from './admission/idempotency.ts';
import { traceRequests } from './admission/trace-requests.ts';
import { type ApiEnv, createMiddleware, customerOf, nameClient } from './app.ts';

/** Lets a request in: who is calling, how many requests are in flight, the guessing of keys, and the rate limit. */

/**
 * A request passes these before its route, in this order: the limit of requests in flight, authentication, the limit of its customer's
 * requests in flight, its span, and the rate limit. The route itself carries out a POST with an Idempotency-Key once.
 * @param identify sets the actor and the caller of a request.
 */
export function admit(runtime: Runtime, identify: MiddlewareHandler<ApiEnv>): MiddlewareHandler<ApiEnv>[] {
  const carryOutOnce = createCarryOutOnce(runtime);
  return [
    limitInFlight(MOST_IN_FLIGHT, () => 'all'),
    identify,
    limitInFlight(MOST_OF_CUSTOMER, (c) => customerOf(c) ?? 'no customer'),
    ...(runtime.tracing === undefined ? [] : [traceRequests(runtime.tracing)]),
    ...(runtime.config.rateLimit > 0 ? [limitRate(runtime)] : []),
    (c, next) => {
      c.set('carryOutOnce', carryOutOnce);
      return next();
    },
  ];
}

/** Default length of a window. A quota allows `limit` uses per window. */
export const WINDOW_SECONDS = 10;

/** How many requests a process works on at a time, in all and of one customer. The lower limit leaves room for other customers. */
export const MOST_IN_FLIGHT = 1_000;
export const MOST_OF_CUSTOMER = 500;

/**
 * Limits how many requests with the same name a process works on at a time. While MySQL is slow, each request takes up to 30 s, and
 * waiting requests would fill the memory. Beyond the limit, the answer is immediately 503 with `Retry-After`. A request that waits for
 * events does not count any more; see `leaveFlight`.
 * @param nameOf requests with the same name are counted together.
 */
export function limitInFlight(most: number, nameOf: (c: Context<ApiEnv>) => string) {
  const inFlight = new Map<string, number>();
  return createMiddleware(async (c, next) => {
    const name = nameOf(c);
    const before = inFlight.get(name) ?? 0;
    if (before >= most) {
      const detail = 'The service is working on as many requests as it can. Send this one again later.';
      throw new Problem('busy', detail, { headers: { 'Retry-After': '1' } });
    }
    let counts = true;
    const leave = () => {
      if (!counts) return;
      counts = false;
      const left = (inFlight.get(name) ?? 1) - 1;
      if (left === 0) inFlight.delete(name);
      else inFlight.set(name, left);
    };
    const leaveOuter = c.get('leaveFlight');
    c.set('leaveFlight', () => {
      leave();
      leaveOuter?.();
    });
    inFlight.set(name, before + 1);
    await next();
    // The request counts until the client has taken the last byte of its answer.
    const { outgoing } = c.env;
    if (outgoing.closed || outgoing.destroyed) leave();
    else outgoing.once('close', leave);
  });
}

/**
 * Identifies the caller by the API key in `Authentication` (with or without "Bearer "), or in `Authorization: Bearer`.
 * Answers 401 when the key is missing or unknown, and 429 to a client that has sent too many unknown keys.
 */
export function authenticate(
  { database, redis, prefix }: Pick<Runtime, 'database' | 'redis' | 'prefix'>,
  callers: CallerCache,
) {
  const attempt = limitGuesses({ redis, prefix });
  const findCaller = createCallerFinder(database);
  return createMiddleware(async (c, next) => {
    const key =
      bearer(c.req.header('authentication')) ??
      bearer(c.req.header('authorization'), { schemeRequired: true });
    if (key === null) {
      throw unauthenticated(
        'missing-api-key',
        'Send your API key in the header Authentication, or as Authorization: Bearer <api key>.',
      );
    }
    if (key.startsWith(OPERATOR_TOKEN_PREFIX))
      throw unauthenticated(
        'unknown-api-key',
        "This is an operator's token. It works only on the operators' listener (OPS_PORT).",
      );
    const hash = digestOf(key);
    const find = () => callers.find(hash, () => findCaller(hash));
    const caller = await attempt({ hash, address: c.get('clientAddress'), find });
    if (caller === null) throw unknownKey();
    c.set('actor', caller.actor);
    c.set('caller', caller);
    c.set('requireKey', async () => {
      if ((await find()) === null) throw unknownKey();
    });
    await next();
  });
}

export function bearer(header: string | undefined, { schemeRequired = false } = {}): string | null {
  const [, scheme, key] = /^\s*(Bearer\s+)?(\S+)\s*$/i.exec(header ?? '') ?? [];
  return key === undefined || (schemeRequired && scheme === undefined) ? null : key;
}

const unauthenticated = (problem: 'missing-api-key' | 'unknown-api-key', detail: string) =>
  // RFC 9110, section 11.6.1: a 401 must name an accepted scheme.
  new Problem(problem, detail, { headers: { 'WWW-Authenticate': 'Bearer realm="ledgerbell"' } });

/** 401 for a key that is unknown, or was deleted while its request was being handled. */
export const unknownKey = () =>
  unauthenticated('unknown-api-key', 'This API key does not exist. It may be mistyped, or it was deleted.');

interface KeyRow {
  id: string;
  customer_id: string;
  all_accounts: number;
  scopes: string;
  unused: number | string;
  key_hash: string;
}

/** Index: api_keys_hash. Looks up keys by their SHA-256 and never compares them byte by byte. */
const FIND_KEYS = `
  SELECT id, customer_id, all_accounts, scopes, HEX(key_hash) AS key_hash,
    (last_used_at IS NULL OR last_used_at < NOW(6) - INTERVAL 1 MINUTE) AS unused
  FROM api_keys WHERE key_hash IN (?)`;

const SET_LAST_USED = 'UPDATE api_keys SET last_used_at = NOW(6) WHERE id IN (?)';

const READ_ACCOUNTS_OF_KEYS = 'SELECT api_key_id, account_id FROM api_key_accounts WHERE api_key_id IN (?)';

/**
 * Creates a function that finds the caller by the SHA-256 of an API key, or null for an unknown key. Looks up the keys of concurrent
 * requests together.
 */
function createCallerFinder(database: DataSource): (hash: Buffer) => Promise<Caller | null> {
  return createBatcher((hashes: readonly Buffer[]) => findCallers(database, hashes));
}

async function findCallers(sql: Sql, hashes: readonly Buffer[]): Promise<(Caller | null)[]> {
  const keys = await sql.query<KeyRow[]>(FIND_KEYS, [hashes]);
  const limited = keys.filter(({ all_accounts }) => all_accounts !== 1).map(({ id }) => id);
  const accounts =
    limited.length === 0
      ? []
      : await sql.query<{ api_key_id: string; account_id: string }[]>(READ_ACCOUNTS_OF_KEYS, [limited]);
  const unused = keys.filter((key) => Number(key.unused) === 1).map(({ id }) => id);
  // Not awaited. If it fails, the key's next use writes it.
  if (unused.length > 0) sql.query(SET_LAST_USED, [unused]).catch(() => {});
  const callers = new Map(
    keys.map(({ id, customer_id, all_accounts, scopes, key_hash }): [string, Caller] => {
      const own = accounts.filter(({ api_key_id }) => api_key_id === id);
      const accountIds = all_accounts === 1 ? 'all' : own.map(({ account_id }) => account_id);
      const caller: Caller = {
        customerId: customer_id,
        actor: { apiKeyId: id },
        accountIds,
        scopes: parseScopes(scopes),
      };
      return [key_hash.toLowerCase(), caller];
    }),
  );
  return hashes.map((hash) => callers.get(hash.toString('hex')) ?? null);
}

/** How long a caller is cached. For this long, a process may still accept a key that another process has deleted. Milliseconds. */
const KEPT_FOR = 1_000;

const KEPT_KEYS = 10_000;

/** Caches the caller of an API key for a second. Most requests then need no query. */
export interface CallerCache {
  /**
   * @param hash SHA-256 of the key.
   * @param read looks up the caller; null for an unknown key, which is not cached.
   */
  find(hash: Buffer, read: () => Promise<Caller | null>): Promise<Caller | null>;
  /** Removes a deleted key. The key stops working in this process immediately. */
  forget(apiKeyId: string): void;
}

/** @param clock milliseconds; must never go back. */
export function createCallerCache(clock: () => number = () => performance.now()): CallerCache {
  const kept = new LRUCache<string, { caller: Caller; until: number }>({ max: KEPT_KEYS });
  /** Grows when a key is deleted. The result of a read that began before is not cached, because it may have found the deleted key. */
  let version = 0;
  return {
    async find(hash, read) {
      const key = hash.toString('base64');
      const found = kept.get(key);
      if (found !== undefined && found.until > clock()) return found.caller;
      const before = version;
      const until = clock() + KEPT_FOR;
      const caller = await read();
      if (caller !== null && version === before) kept.set(key, { caller, until });
      return caller;
    },
    forget(apiKeyId) {
      version += 1;
      for (const [key, { caller }] of [...kept]) if (apiKeyOf(caller.actor) === apiKeyId) kept.delete(key);
    },
  };
}

/** How many valid keys this process remembers. */
const MAX_PROVEN = 10_000;

export interface Attempt<Found> {
  /** SHA-256 of the key or token. */
  hash: Buffer;
  /** The address of the client. */
  address: string | undefined;
  /** @returns null: it is unknown. */
  find: () => Promise<Found | null>;
}

/** What is guessed: how many unknown values one client may send in a window. */
export interface Guesses {
  /** The problem of a client that has sent too many. */
  problem: 'too-many-unknown-keys' | 'too-many-unknown-tokens';
  /** The plural for messages, such as `unknown API keys`. */
  words: string;
  limit: number;
  windowSeconds: number;
}

const KEY_GUESSES: Guesses = {
  problem: 'too-many-unknown-keys',
  words: 'unknown API keys',
  limit: 100,
  windowSeconds: WINDOW_SECONDS,
};

/**
 * Throttles the guessing of API keys or tokens. A client that has sent 100 unknown keys within 10 s, for example, is answered 429 until the
 * 10 s are over. Its keys are not looked up during that time, so a correct guess looks like a wrong one. A client is an IPv4 address or an
 * IPv6 /64, because a client with one address of a /64 can use all of them. All processes share the count. While Redis is unreachable,
 * each process counts alone.
 *
 * A key that was valid in this process before is always looked up, because other clients may share the guesser's address. Behind a
 * proxy that is not in TRUSTED_PROXIES, all clients share one address.
 */
export function limitGuesses<Found = Caller>(
  { redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>,
  { problem, words, limit, windowSeconds }: Guesses = KEY_GUESSES,
) {
  const name = problem === 'too-many-unknown-keys' ? 'guesses' : 'operator-guesses';
  const unknownKeys = createQuota({ redis, prefix: `${prefix}:${name}`, limit, windowSeconds });
  const proven = new LRUCache<string, true>({ max: MAX_PROVEN });

  function refuseTooMany(address: string | undefined): void {
    const left = unknownKeys.look(nameClient(address));
    if (!left.exhausted) return;
    throw tooManyRequests(
      problem,
      left,
      `More than ${limit} ${words} came from this address within ${windowSeconds} s.`,
    );
  }

  /** @throws {Problem} 429 after too many unknown keys. */
  return async function attempt({ hash, address, find }: Attempt<Found>): Promise<Found | null> {
    const name = hash.toString('base64');
    const isProven = proven.has(name);
    if (!isProven) refuseTooMany(address);
    const caller = await find();
    // Checked again, so that concurrent requests that passed the first check learn nothing beyond the limit.
    if (!isProven) refuseTooMany(address);
    if (caller !== null) proven.set(name, true);
    else {
      proven.delete(name);
      unknownKeys.take(nameClient(address));
    }
    return caller;
  };
}

const SECOND = 1_000;

/** Milliseconds between two reports of a window to Redis. */
const REPORT_EVERY = 100;

/** How many windows a process keeps in memory. The count of a dropped window is still in Redis. */
const MAX_WINDOWS = 10_000;

/** The unused part of a name's limit. */
export interface Left {
  exhausted: boolean;
  remaining: number;
  /** Whole seconds until the window is over, at least 1. */
  seconds: number;
}

interface Quota {
  /** Counts one use. If nothing is left, it counts nothing and returns `exhausted`. */
  take(name: string): Left;
  /** Returns what is left, and counts nothing. */
  look(name: string): Left;
}

interface Window {
  /** Uses reported to Redis. Once Redis has answered, the uses of all processes. */
  counted: number;
  /** Uses counted here and not yet reported. */
  unreported: number;
  reporting: boolean;
  /** Milliseconds on the monotonic clock. */
  endsAt: number;
}

/**
 * Counts up to `limit` uses per name and window. All processes on one Redis share the windows. A process answers from its own count and
 * reports to Redis in the background: immediately after a pause, otherwise every 100 ms. So no request waits for Redis, even if Redis is
 * slow or unreachable. In return, each further process may let through the requests that it receives within these 100 ms. While Redis
 * is unreachable, each process uses its own count.
 */
export function createQuota({
  redis,
  prefix,
  limit,
  windowSeconds = WINDOW_SECONDS,
}: {
  redis: RedisClient;
  /** Prefix of the quota's keys in Redis. */
  prefix: string;
  limit: number;
  windowSeconds?: number;
}): Quota {
  const length = windowSeconds * SECOND;
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: prefix,
    points: limit,
    duration: windowSeconds,
  });
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS });

  function open(name: string): Window {
    const window = { counted: 0, unreported: 0, reporting: false, endsAt: performance.now() + length };
    windows.set(name, window);
    return window;
  }

  function current(name: string): Window | undefined {
    const window = windows.get(name);
    return window === undefined || isOver(window) ? undefined : window;
  }

  const left = (window: Window | undefined): Left => {
    const remaining = Math.max(0, limit - (window === undefined ? 0 : window.counted + window.unreported));
    const milliseconds = window === undefined ? length : window.endsAt - performance.now();
    return { exhausted: remaining === 0, remaining, seconds: Math.max(1, Math.ceil(milliseconds / SECOND)) };
  };

  async function report(name: string, window: Window): Promise<void> {
    window.reporting = true;
    while (window.unreported > 0 && !isOver(window)) {
      const uses = window.unreported;
      window.counted += uses;
      window.unreported = 0;
      try {
        const { consumedPoints, msBeforeNext } = await shared.penalty(name, uses);
        if (msBeforeNext <= length) {
          window.counted = consumedPoints;
          window.endsAt = performance.now() + msBeforeNext;
        } else {
          // The clock of Redis was set back. Without this, the key would last until the clock has caught up.
          await shared.delete(name);
        }
      } catch {
        // Not reported again, because a command that timed out may still have run, and counting twice would refuse requests too early.
      }
      await sleep(REPORT_EVERY, undefined, { ref: false });
    }
    window.reporting = false;
  }

  return {
    take(name) {
      const window = current(name) ?? open(name);
      const before = left(window);
      if (before.exhausted) return before;
      window.unreported += 1;
      if (!window.reporting) void report(name, window);
      return { ...before, remaining: before.remaining - 1 };
    },
    look: (name) => left(current(name)),
  };
}

const isOver = ({ endsAt }: Window): boolean => performance.now() >= endsAt;

/** All API keys of a customer together may send this many times as much as one key. */
const KEYS_AT_FULL_RATE = 3;

/**
 * Limits the requests of each API key to RATE_LIMIT per second, averaged over 10 s and counted across all processes. All keys of a
 * customer together may send three times as many. Every answer to a known key has the headers `RateLimit-Policy` and `RateLimit` with
 * the limit of the key (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4). Beyond a limit, the answer is a 429 with
 * `Retry-After` (RFC 6585, section 4). While Redis is unreachable, each process uses its own count.
 */
export function limitRate({ config, redis, prefix }: Pick<Runtime, 'config' | 'redis' | 'prefix'>) {
  const limit = config.rateLimit * WINDOW_SECONDS;
  const ofAllKeys = limit * KEYS_AT_FULL_RATE;
  const byKey = createQuota({ redis, prefix: `${prefix}:rate`, limit });
  const byCustomer = createQuota({ redis, prefix: `${prefix}:customer-rate`, limit: ofAllKeys });
  const policy = `"default";q=${limit};w=${WINDOW_SECONDS}`;
  return createMiddleware(async (c, next) => {
    const actor = c.get('actor');
    // Operators are not limited.
    if (isOperator(actor)) return next();
    const { apiKeyId } = actor;
    const { customerId } = c.get('caller');
    const left = byKey.take(apiKeyId);
    c.header('RateLimit-Policy', policy);
    c.header('RateLimit', `"default";r=${left.remaining};t=${left.seconds}`);
    if (left.exhausted) {
      const detail = `This API key may send ${limit} requests in ${WINDOW_SECONDS} s, and has sent them.`;
      throw tooManyRequests('rate-limited', left, detail);
    }
    const ofCustomer = byCustomer.take(customerId);
    if (ofCustomer.exhausted) {
      const detail = `All your API keys together may send ${ofAllKeys} requests in ${WINDOW_SECONDS} s, and have sent them.`;
      throw tooManyRequests('rate-limited', ofCustomer, detail);
    }
    await next();
  });
}

/** A 429 that names the seconds to wait in its detail and in `Retry-After`. */
export const tooManyRequests = (
  problem: Extract<ProblemName, 'rate-limited' | `too-many-${string}`>,
  { seconds }: Left,
  detail: string,
) =>
  new Problem(problem, `${detail} Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
