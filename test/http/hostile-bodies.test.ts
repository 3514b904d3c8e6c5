import { monitorEventLoopDelay } from 'node:perf_hooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { asOperator, tokenOf } from '../operators/support.ts';
import type { JsonSchema } from '../support/json-schema.ts';
import { movement } from '../support/movements.ts';
import { collectionOf, type Operation, readOperations } from '../support/operations.ts';
import { type Answer, useService } from '../support/service.ts';
import { createWorld, idsOf, type World } from '../support/world.ts';

/**
 * JSON bodies that are as large as a route takes, and as costly to read as they can be. None may keep the process from its other
 * callers.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Leaves some bytes of the 256 KiB for the rest of the body. */
const RESOURCE_BYTES = 250 * KIB;
/** The limit is 32 MiB. The time grows with the size, and a quarter of it shows the same in a shorter test. */
const IMPORT_BYTES = 8 * MIB;
/** Longest item of an import. */
const ITEM_BYTES = 63 * KIB;

/** Milliseconds that one body may block the process. A fast machine needs a few: this is for slow and busy ones. */
const LONGEST_BLOCK = 1_000;

/** Milliseconds. Thousands of bodies are sent, which takes a fast machine a minute. */
const LONGEST_TEST = 15 * 60_000;

/** The machine itself stops now and then, so a body is bad only if it blocks each time. */
const TRIES = 3;

const service = useService({ roles: ['api', 'importer'] });

let operations: Operation[];
let world: World;
let victim: string;
let token: string;

beforeAll(async () => {
  const ofCustomers = await readOperations(service);
  const known = new Set(ofCustomers.map(({ name }) => name));
  const ofOperators = (await readOperations(service, { ofOperators: true })).filter(
    ({ name }) => !known.has(name),
  );
  operations = [...ofCustomers, ...ofOperators].filter(({ bodies }) => bodies.has('application/json'));
  token = await tokenOf(service, 'admin');
  world = await createWorld(service, {
    mark: 'Kendi',
    accounts: 2,
    movements: 2,
    issues: 1,
    webhooks: [],
    outcomes: ['pending', 'delivered', 'failed'],
  });
  const template = {
    title: 'a',
    endpoint: 'http://127.0.0.1:9/',
    event: 'NEW_DEBIT',
    customers: { metadata: { of: 'none' } },
  };
  const { body } = await asOperator(service, token, 'POST', '/v1/webhook-templates', { body: template });
  const ids = { 'webhook-templates': [String(body.webhook_template.id)] };
  world = { ...world, all: { ...world.all, ...ids } };
  victim = (await service.customer()).api_key;
});

type Fill = (bytes: number) => string;

/** The same fill, which makes a text of each size once. */
function once(fill: Fill): Fill {
  const made = new Map<number, string>();
  return (bytes) => {
    const text = made.get(bytes) ?? fill(bytes);
    made.set(bytes, text);
    return text;
  };
}

const repeated = (before: string, part: string, after: string): Fill => {
  return (bytes) =>
    before + part.repeat(Math.floor((bytes - before.length - after.length) / part.length)) + after;
};

/** A list of as many equal items as fit. */
const listOf = (item: string): Fill => repeated('[', `${item},`, `${item}]`);

/** An object of as many different members as fit. */
const membersOf = (value: string): Fill =>
  once((bytes) => {
    const members: string[] = [];
    for (let length = 2; length < bytes - 20; length += members[members.length - 1]?.length ?? 0)
      members.push(`"a${members.length.toString(36)}":${value},`);
    return `{${members.join('')}"z":${value}}`;
  });

const nested = (open: string, inner: string, close: string): Fill => {
  return (bytes) => {
    const depth = Math.floor((bytes - inner.length) / (open.length + close.length));
    return open.repeat(depth) + inner + close.repeat(depth);
  };
};

const VALUES: Record<string, Fill> = {
  'a list of zeros': listOf('0'),
  'a list of ids': listOf('"1"'),
  'an object of many numbers': membersOf('0'),
  'an object of many strings': membersOf('""'),
  'lists within lists': nested('[', '', ']'),
  'objects within objects': nested('{"a":', '0', '}'),
  'a long string': repeated('"', 'a', '"'),
  'a long string of spaces': repeated('"', ' ', '"'),
  'a long string of emojis': (bytes) => repeated('"', '\u{1F642}', '"')(bytes / 2),
  'an escaped string': repeated('"', '\\u0041', '"'),
};

/** Those that took longest before long lists were refused at once. */
const COSTLIEST: Record<string, Fill> = {
  'a list of zeros': listOf('0'),
  'an object of many strings': membersOf('""'),
  'a long string of spaces': repeated('"', ' ', '"'),
};

const BODIES: Record<string, Fill> = {
  ...VALUES,
  'brackets without an end': repeated('', '[', ''),
  'objects without an end': repeated('', '{"a":', ''),
  'a string without an end': repeated('"', 'a', ''),
  'a member with a long name': repeated('{"', 'a', '":0}'),
  blanks: repeated('', ' ', ''),
  'blanks in an object': repeated('{', ' ', '}'),
  'blanks behind a number': repeated('0', ' ', ''),
};

/** Bodies that are accepted but for the hostile part, so that all checks come to it. */
const GOOD: Record<string, readonly object[]> = {
  'POST /v1/customers': [{ name: 'a' }],
  'PATCH /v1/customers/{id}': [{}],
  'POST /v1/webhook-templates': [
    { title: 'a', endpoint: 'http://127.0.0.1:9/', event: 'NEW_DEBIT', customers: 'all' },
  ],
  'PATCH /v1/webhook-templates/{id}': [{}],
  'POST /v1/webhook-templates/{id}/replay': [{ since: '2026-01-01 00:00:00' }],
  'POST /v1/operator-tokens': [{ title: 'a', role: 'viewer' }],
  'POST /v1/accounts': [{ title: 'a', bank: 'b', currency: 'TRY' }],
  'PATCH /v1/accounts/{id}': [{}],
  'POST /v1/apikeys': [{ title: 'a', account: 'all' }],
  'POST /v1/conflicts/{id}': [{ decision: 'store' }],
  'POST /v1/imports/{id}/withdraw': [{ reason: 'a' }],
  'POST /v1/statements/{id}/withdraw': [{ reason: 'a' }],
  'POST /v1/sources/{id}/collect-again': [{ import_id: 1 }],
  'POST /v1/sources': [
    { title: 'a', kind: 'folder', settings: { path: 'a' }, schedule: { every: '15m' } },
    {
      title: 'a',
      kind: 'http',
      settings: { url: 'http://127.0.0.1:9/' },
      credentials: {},
      schedule: { every: '15m' },
    },
    { title: 'a', kind: 's3', settings: {}, credentials: {}, schedule: { every: '15m' } },
    { title: 'a', kind: 'sftp', settings: {}, credentials: {}, schedule: { every: '15m' } },
  ],
  'PATCH /v1/sources/{id}': [{}],
  'POST /v1/webhooks': [
    { title: 'a', endpoint: 'http://127.0.0.1:9/', event: 'NEW_TRANSACTION', account: 'all' },
  ],
  'PATCH /v1/webhooks/{id}': [{}],
  'POST /v1/webhooks/{id}/replay': [{ since: '2026-01-01 00:00:00' }],
};

/** The paths of all members of a schema, also of objects within it. */
function memberPaths(schema: JsonSchema | null): string[][] {
  const paths = new Map<string, string[]>();
  const walk = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    const { properties = {}, anyOf = [], oneOf = [], allOf = [] } = value as Record<string, object>;
    for (const [name, member] of Object.entries(properties)) {
      const below = [...path, name];
      paths.set(below.join('.'), below);
      walk(member, below);
    }
    for (const other of [anyOf, oneOf, allOf].flatMap(Object.values)) walk(other, path);
  };
  walk(schema, []);
  return [...paths.values()];
}

const HOLE = 'hostile part';

/** A body with a hostile value at a path. */
function withValue(good: object, path: readonly string[], value: string): string {
  const body = structuredClone(good) as Record<string, unknown>;
  let at = body;
  for (const name of path.slice(0, -1)) {
    const inner = at[name];
    const next = typeof inner === 'object' && inner !== null ? inner : {};
    at[name] = next;
    at = next as Record<string, unknown>;
  }
  at[path.at(-1) ?? ''] = HOLE;
  const [before = '', after = ''] = JSON.stringify(body).split(`"${HOLE}"`);
  return before + value + after;
}

const pathOf = ({ path }: Operation): string =>
  path
    .replace('/customers/{id}', () => `/customers/${world.customer.id}`)
    .replaceAll(/\{(\w+)\}/g, (_, name) => idsOf(world.all, collectionOf(path, name))[0] ?? '');

/** Sends a body while the victim reads its accounts. @returns the answer, and how long the process was blocked at most, in milliseconds. */
async function attack(
  method: string,
  path: string,
  body: Buffer,
): Promise<{ answer: Answer; blocked: number }> {
  let isOver = false;
  const reading = (async () => {
    do {
      const { status } = await service.call('GET', '/v1/accounts', { key: victim });
      expect(status).toBe(200);
    } while (!isOver);
  })();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const answer = /^\/v1\/(?:customers|operator-tokens|webhook-templates)/.test(path)
    ? await asOperator(service, token, method, path, { body })
    : await service.call(method, path, { key: world.key, body });
  isOver = true;
  await reading;
  delays.disable();
  return { answer, blocked: delays.max / 1e6 };
}

/** Sends a body several times if it blocks. @returns what is wrong with the answers. */
async function findFault(name: string, method: string, path: string, text: string): Promise<string[]> {
  const body = Buffer.from(text);
  let blocked = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && blocked > LONGEST_BLOCK; tries += 1) {
    const attacked = await attack(method, path, body);
    const { status, body: problem } = attacked.answer;
    // Any other refusal would come before the body is read.
    if (![400, 422].includes(status)) return [`${name}: ${status} ${JSON.stringify(problem).slice(0, 300)}`];
    if (problem.errors?.length > 100) return [`${name}: ${problem.errors.length} errors`];
    blocked = Math.min(blocked, attacked.blocked);
  }
  return blocked > LONGEST_BLOCK ? [`${name}: the process was blocked for ${Math.round(blocked)} ms`] : [];
}

describe('a hostile JSON body', { timeout: LONGEST_TEST }, () => {
  it.each([
    ['POST /v1/apikeys', 'account', ['account']],
    ['POST /v1/apikeys', 'scopes', ['scopes']],
    ['POST /v1/webhooks/{id}/replay', 'status', ['status']],
    // That a list is no object comes in addition.
    ['POST /v1/webhooks', 'headers', ['headers', 'headers']],
  ])('has one issue, and not one for each item: %s with a long list as %s', async (name, member, paths) => {
    const operation = operations.find((it) => it.name === name);
    const [good] = GOOD[name] ?? [];
    if (operation === undefined || good === undefined) throw new Error(`there is no ${name}`);
    const text = withValue(good, [member], listOf('0')(RESOURCE_BYTES));
    const { status, body } = await service.call(operation.method, pathOf(operation), {
      key: world.key,
      body: text,
    });
    expect(status).toBe(422);
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
    expect(body.errors[0].message).toMatch(/ at most (?:10|100|1000) /);
  });

  it('is refused by each route that takes JSON, and blocks nobody else', async () => {
    const routes = operations.filter(({ name }) => name !== 'POST /v1/imports');
    // A new route needs a good body above.
    expect(routes.map(({ name }) => name).sort()).toEqual(Object.keys(GOOD).sort());
    const faults: string[] = [];
    for (const operation of routes) {
      const { name, method, bodies } = operation;
      const path = pathOf(operation);
      // The body of a PATCH is read as that of the POST, and has the same members.
      const isChange = method === 'PATCH';
      for (const [kind, fill] of Object.entries(isChange ? COSTLIEST : BODIES))
        faults.push(...(await findFault(`${name}, ${kind}`, method, path, fill(RESOURCE_BYTES))));
      // The fields of a template are those of a webhook, where they are tried, and its customers.
      const isTried = ([first]: readonly string[]) =>
        name.includes('/v1/webhook-templates') && first !== 'customers';
      const members = memberPaths(bodies.get('application/json') ?? null).filter((it) => !isTried(it));
      for (const [at, good] of (GOOD[name] ?? []).entries()) {
        for (const member of members) {
          // Most members are the same in each kind of source, but its settings and credentials, and so are most members of these.
          const isOfAll = at > 0 && !['settings', 'credentials'].includes(member[0] ?? '');
          const isTriedElsewhere = isOfAll || member.length > 1 || isChange;
          for (const [kind, fill] of Object.entries(isTriedElsewhere ? COSTLIEST : VALUES)) {
            const text = withValue(good, member, fill(RESOURCE_BYTES));
            faults.push(...(await findFault(`${name}, ${member.join('.')} is ${kind}`, method, path, text)));
          }
        }
      }
    }
    expect(faults).toEqual([]);
  });

  it('is refused as an import, and blocks nobody else', async () => {
    const faults: string[] = [];
    const tryOut = async (kind: string, text: string) => {
      for (const query of ['', '?dry_run=true'])
        faults.push(...(await findFault(`imports${query}, ${kind}`, 'POST', `/v1/imports${query}`, text)));
    };
    for (const [kind, fill] of Object.entries(BODIES)) await tryOut(kind, fill(IMPORT_BYTES));
    for (const [kind, fill] of Object.entries(VALUES)) {
      await tryOut(`transactions is ${kind}`, `{"transactions":${fill(IMPORT_BYTES - 30)}}`);
      await tryOut(`a movement is ${kind}`, `{"transactions":[${fill(ITEM_BYTES)}]}`);
    }
    const earlier = `"transactions":${listOf('0')(IMPORT_BYTES / 8)},`;
    await tryOut('a list that comes seven times', `{${earlier.repeat(7)}"transactions":[0]}`);
    expect(faults).toEqual([]);
  });

  it('is refused as a movement, and blocks nobody else', async () => {
    const faults: string[] = [];
    const schema = operations.find(({ name }) => name === 'POST /v1/imports')?.bodies.get('application/json');
    const members = [...memberPaths(movementOf(schema ?? null)), ['unknown']];
    expect(members).toContainEqual(['account_id']);
    const [account = ''] = world.all.accounts;
    const good = movement(account);
    for (const member of members) {
      for (const [kind, fill] of Object.entries(VALUES)) {
        const item = withValue(good, member, fill(ITEM_BYTES));
        const text = `{"transactions":${listOf(item)(MIB)}}`;
        faults.push(...(await findFault(`${member} is ${kind}`, 'POST', '/v1/imports', text)));
      }
    }
    expect(faults).toEqual([]);
  });

  it('is refused as an import of 32 MiB of zeros, and blocks nobody else', async () => {
    const text = `{"transactions":${listOf('0')(32 * MIB - 30)}}`;
    expect(await findFault('32 MiB of zeros', 'POST', '/v1/imports', text)).toEqual([]);
  }, 60_000);
});

/** The schema of the items of `transactions`. */
function movementOf(schema: JsonSchema | null): JsonSchema | null {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { items?: JsonSchema }> };
  return properties.transactions?.items ?? null;
}
