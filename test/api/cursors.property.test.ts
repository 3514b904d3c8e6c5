import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CursorKind, encodeCursor } from '../../src/http/paging.ts';
import { collectionOf, type Operation, readOperations } from '../support/operations.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { deliveriesOf } from '../support/webhooks.ts';
import { createWorld, idsOf, type World } from '../support/world.ts';
import { openWire, type Wire } from './fuzz/exchange.ts';
import { respelled } from './fuzz/respelled.ts';
import { hostileText } from './fuzz/values.ts';

const RUNS = 40;
const SEED = 20_261_231;

const service = useService({ roles: ['api', 'importer'] });

let own: World;
let other: World;
let wire: Wire;
let operations: Operation[];

const planOf = (mark: string) => ({
  mark,
  accounts: 2,
  movements: 3,
  issues: 1,
  webhooks: [],
  outcomes: ['pending' as const, 'failed' as const],
});

beforeAll(async () => {
  operations = await readOperations(service);
  other = await createWorld(service, planOf('Yabanci'));
  own = await createWorld(service, planOf('Kendi'));
  wire = openWire(service.url);
});
afterAll(() => wire?.close());

const get = (target: string, method = 'GET') =>
  wire.exchange({ method, target, headers: [['Authentication', own.key]], body: null, chunked: false });

/** A listing with cursors, and its rows as read from the tables, without the API. */
interface Listing {
  /** With `?` and a filter, so that parameters can be added. */
  target: string;
  member: string;
  kind: CursorKind;
  /** The id of each row and its position for a cursor, in order. */
  rows: { id: string; position: string }[];
}

async function listings(): Promise<Listing[]> {
  const { database } = service.runtime;
  const rows = (sql: string, values: unknown[]) => database.query<Listing['rows']>(sql, values);
  const [account = ''] = own.all.accounts;
  const [webhook = ''] = own.all.webhooks;
  const [source = ''] = own.all.sources;
  const movements = 'SELECT id, id AS position FROM transactions WHERE';
  const withdrawn = 'SELECT id, event_id AS position FROM withdrawn_transactions WHERE';
  const runs = 'SELECT id, id AS position FROM source_runs WHERE source_id = ?';
  const deliveries = (await deliveriesOf(service, webhook))
    .reverse()
    .map(({ id, transaction_id: position, status }) => ({ id, position, status }));
  return [
    {
      target: '/v1/transactions?starts=2000-01-01',
      member: 'transactions',
      kind: 't1',
      rows: await rows(`${movements} customer_id = ? ORDER BY id`, [own.customer.id]),
    },
    {
      target: `/v1/accounts/${account}/transactions?after=2000-01-01%2000:00:00`,
      member: 'transactions',
      kind: 't1',
      rows: await rows(`${movements} account_id = ? ORDER BY id`, [account]),
    },
    {
      target: '/v1/transactions?starts=2000-01-01&withdrawn=only',
      member: 'transactions',
      kind: 'y1',
      rows: await rows(`${withdrawn} customer_id = ? ORDER BY event_id`, [own.customer.id]),
    },
    {
      target: `/v1/accounts/${account}/transactions?starts=2000-01-01&withdrawn=only&order=newest`,
      member: 'transactions',
      kind: 'z1',
      rows: await rows(`${withdrawn} account_id = ? ORDER BY event_id DESC`, [account]),
    },
    {
      target: `/v1/accounts/${account}/statements?`,
      member: 'statements',
      kind: 'n1',
      rows: await rows('SELECT id, id AS position FROM statements WHERE account_id = ? ORDER BY id DESC', [
        account,
      ]),
    },
    {
      target: `/v1/accounts/${account}/balances?`,
      member: 'balances',
      kind: 'd1',
      rows: await rows(
        `SELECT day AS id, DATEDIFF(day, '1000-01-01') AS position FROM (
          SELECT to_date AS day FROM statements WHERE account_id = ?
          UNION SELECT date_issue FROM transactions WHERE account_id = ? AND balance IS NOT NULL) d ORDER BY day DESC`,
        [account, account],
      ),
    },
    {
      target: `/v1/webhooks/${webhook}/deliveries?`,
      member: 'deliveries',
      kind: 'm2',
      rows: deliveries,
    },
    {
      target: `/v1/webhooks/${webhook}/deliveries?status=failed`,
      member: 'deliveries',
      kind: 'm2',
      rows: deliveries.filter(({ status }) => status === 'failed'),
    },
    {
      target: `/v1/webhooks/${webhook}/replays?`,
      member: 'replays',
      kind: 'p1',
      rows: await rows('SELECT id, id AS position FROM replays WHERE webhook_id = ? ORDER BY id DESC', [
        webhook,
      ]),
    },
    {
      target: `/v1/sources/${source}/runs?`,
      member: 'runs',
      kind: 'r1',
      rows: await rows(`${runs} ORDER BY id DESC`, [source]),
    },
    ...[
      ['webhooks', 'w1'],
      ['accounts', 'a1'],
      ['banks', 'b1'],
      ['apikeys', 'k1'],
      ['imports', 'i1'],
      ['sources', 's1'],
      ['conflicts', 'f1'],
      ['withdrawals', 'x1'],
    ].map(([member = '', of]) => {
      const ids = idsOf(own.all, member).map((id) => ({ id, position: id }));
      const rows = ['i1', 'f1', 'x1'].includes(of ?? '') ? ids.toReversed() : ids;
      return { target: `/v1/${member}?`, member, kind: of as CursorKind, rows };
    }),
  ];
}

/** A balance has a day in place of an id. */
const idOf = ({ id, date }: { id?: string | number; date?: string }) => String(id ?? date);

const kind = fc.constantFrom<CursorKind>(
  't1',
  'm2',
  'i1',
  'r1',
  'w1',
  's1',
  'a1',
  'b1',
  'k1',
  'f1',
  'n1',
  'd1',
  'p1',
  'x1',
  'y1',
  'z1',
);

/** Numbers that are ids of some customer's objects, or of none. */
const anyId = () =>
  fc.oneof(
    fc.constantFrom(
      ...[own, other].flatMap(({ all }) =>
        Object.values(all)
          .flat()
          .flatMap((id) => id.split('-')),
      ),
    ),
    fc.constantFrom('0', '1', '999999999999999999'),
    fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }).map(String),
  );

/** Texts that no Link has as its cursor. */
const spoiled = () =>
  fc.oneof(
    fc.tuple(respelled(anyId()), kind).map(([id, of]) => encodeCursor(id, of)),
    fc
      .tuple(anyId(), kind, fc.nat(20))
      .map(([id, of, length]) => encodeCursor(id, of).slice(0, length % encodeCursor(id, of).length)),
    fc
      .tuple(anyId(), kind, fc.nat(20), fc.base64String({ minLength: 4, maxLength: 4 }))
      .map(([id, of, at, junk]) => {
        const text = encodeCursor(id, of);
        return text.slice(0, at) + junk.slice(0, 1) + text.slice(at + 1);
      }),
    anyId().map((id) => Buffer.from(`t2:${id}`).toString('base64url')),
    anyId().map((id) => Buffer.from(`t1:${id} OR 1=1`).toString('base64url')),
    hostileText,
    fc.constantFrom('A'.repeat(3_000), 'dDE6MQ==', 'dDE6 MQ', '%'),
  );

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

describe('a listing with a cursor', () => {
  it('is covered by this file for every operation with a cursor', async () => {
    const known = operations.filter(
      ({ method, parameters }) => method === 'GET' && parameters.some(({ name }) => name === 'per_page'),
    );
    const targets = await listings();
    for (const { path } of known) {
      const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[\\d-]+')}\\?`);
      expect(targets.filter(({ target }) => pattern.test(target)).length, path).toBeGreaterThan(0);
    }
    expect(known).not.toEqual([]);
  });

  it("continues after the cursor with the caller's rows, whoever the cursor was made for", async () => {
    const all = await listings();
    for (const { rows } of all) expect(rows).not.toEqual([]);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...all), anyId(), kind, async (listing, id, of) => {
        const answer = await get(`${listing.target}&cursor=${encodeCursor(id, of)}`);
        if (of !== listing.kind) return void expect(expectProblem(answer, 422)).toEqual(['cursor']);
        expect(answer.status).toBe(200);
        const behind = listing.rows.filter(({ position }) =>
          ['m2', 'i1', 'r1', 'f1', 'n1', 'd1', 'p1', 'x1', 'z1'].includes(listing.kind)
            ? BigInt(position) < BigInt(id)
            : BigInt(position) > BigInt(id),
        );
        const ids = answer.body[listing.member].map(idOf);
        expect(ids).toEqual(behind.map((row) => row.id));
        expect(JSON.stringify(answer.body)).not.toContain('Yabanci');
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('refuses any other text as a cursor, or shows rows of the caller', async () => {
    const all = await listings();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...all), spoiled(), async (listing, text) => {
        const answer = await get(`${listing.target}&cursor=${encoded(text)}`);
        if (answer.status !== 200) {
          expect(expectProblem(answer, 422)).toEqual(['cursor']);
          return;
        }
        const known = new Set(listing.rows.map(({ id }) => id));
        for (const row of answer.body[listing.member]) expect(known).toContain(idOf(row));
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('accepts only whole numbers in range as page and per_page, and shows rows of the caller', async () => {
    const number = fc.oneof(anyId(), respelled(anyId()), hostileText, fc.bigInt().map(String));
    const movements = (await listings()).filter(({ kind: of }) => of === 't1');
    const name = fc.constantFrom('page', 'per_page');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...movements), name, number, async ({ target, rows }, which, text) => {
        const answer = await get(`${target}&${which}=${encoded(text)}`);
        // A `+` in a query means a space, so the two cannot be told apart.
        if (!/^0*[1-9]\d*$/.test(text)) expect(expectProblem(answer, 422)).toEqual([which]);
        if (answer.status !== 200) return void expect(expectProblem(answer, 422)).toEqual([which]);
        const ids = answer.body.transactions.map(({ id }: { id: number }) => String(id));
        const expected = which === 'page' ? (BigInt(text) === 1n ? rows : []) : rows.slice(0, Number(text));
        expect(ids).toEqual(expected.map(({ id }) => id));
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});

describe('an id in a path', () => {
  it('is accepted in one spelling only, and finds rows of its owner only', async () => {
    const withId = operations.flatMap((operation) =>
      operation.parameters.filter((it) => it.in === 'path').map(({ name }) => ({ operation, name })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...withId).chain(({ operation, name }) => {
          const collection = collectionOf(operation.path, name);
          const ids = (world: World) => fc.constantFrom(...idsOf(world.all, collection));
          return fc
            .oneof(
              { weight: 6, arbitrary: respelled(ids(own)) },
              { weight: 1, arbitrary: respelled(ids(other)) },
              { weight: 1, arbitrary: ids(other) },
              { weight: 1, arbitrary: hostileText },
            )
            .filter((id) => id !== '' && !idsOf(own.all, collection).includes(id))
            .map((id) => ({
              method: operation.method,
              target: operation.path.replace(`{${name}}`, encoded(id)),
            }));
        }),
        async ({ method, target }) => void expectProblem(await get(target, method), 404),
      ),
      { numRuns: RUNS * 2, seed: SEED },
    );
    for (const { operation, name } of withId.filter((it) => it.operation.method === 'GET')) {
      const [first = ''] = idsOf(own.all, collectionOf(operation.path, name));
      const id = operation.path.endsWith('/feed') ? own.feed : first;
      const query = operation.path === '/v1/accounts/{account_id}/transactions' ? '?starts=2000-01-01' : '';
      const { status } = await get(operation.path.replace(`{${name}}`, id) + query);
      expect([operation.name, status]).toEqual([operation.name, 200]);
    }
  });
});
