import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { readAll } from '../support/listing.ts';
import { importDone, movement } from '../support/movements.ts';
import { collectionOf, type Operation, readOperations } from '../support/operations.ts';
import { type Answer, useService } from '../support/service.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { createWorld, idsOf, type Objects, type World, worldPlan } from '../support/world.ts';
import {
  type Actor,
  fill,
  leastBody,
  NOBODYS,
  nobodysIn,
  type Request,
  requestsAbout,
} from './tenants/requests.ts';
import { readState } from './tenants/state.ts';
import { told } from './tenants/told.ts';

/** Customers, or pairs of them; each costs some 300 requests. */
const RUNS = 2;
const SEED = 20_261_231;

const service = useService({ roles: ['api', 'importer'] });

let operations: Operation[];

beforeAll(async () => {
  operations = (await readOperations(service)).filter(({ path }) => path.startsWith('/v1/'));
});

/** Names of the operations that were requested, to check at the end that none was left out. */
const asked = new Set<string>();

function ask({ key }: Actor, { operation, target, body }: Request): Promise<Answer> {
  asked.add(operation.name);
  return service.call(operation.method, target, { key, body });
}

const askAll = (actor: Actor, requests: readonly Request[]): Promise<Answer[]> =>
  Promise.all(requests.map((request) => ask(actor, request)));

/** The first, the middle and the last. Of many objects of a kind, these are enough. */
function pick(ids: readonly string[], turn: number): string {
  const id = [ids[0], ids[ids.length >> 1], ids.at(-1)][turn];
  if (id === undefined) throw new Error('there is nothing to ask about');
  return id;
}

/** Asks about `hidden` as `actor`, who must get the same answer for each as for an object that does not exist. @returns the answers. */
async function expectHidden(actor: Actor, hidden: Objects): Promise<Answer[]> {
  const ofNothing = await askAll(actor, requestsAbout(operations, nobodysIn, actor));
  const answers: Answer[] = [];
  for (const turn of [0, 1, 2]) {
    const idFor = (collection: string) => pick(idsOf(hidden, collection), turn);
    const requests = requestsAbout(operations, idFor, actor);
    for (const [index, answer] of (await askAll(actor, requests)).entries()) {
      const name = `${requests[index]?.operation.name} ${requests[index]?.target}`;
      expect([403, 404, 422], name).toContain(answer.status);
      expect(told(answer), name).toEqual(told(ofNothing[index] ?? answer));
      answers.push(answer);
    }
    expect(requests).toHaveLength(ofNothing.length);
  }
  return answers;
}

/** The same requests with a key that may make them. They must succeed, or they were refused for another reason. Deletions come last. */
async function expectOpen(owner: Actor, objects: Objects): Promise<void> {
  const requests = requestsAbout(operations, (collection) => pick(idsOf(objects, collection), 2), owner);
  // The webhooks of an account are deleted with it, and the key that is deleted may be the one that asks.
  const last = ['/v1/accounts', '/v1/apikeys'];
  const order = ({ operation: { method, path } }: Request) =>
    method !== 'DELETE' ? 0 : 2 + last.findIndex((it) => path.startsWith(it));
  for (const request of requests.toSorted((a, b) => order(a) - order(b))) {
    const { status, body } = await ask(owner, await withWithdrawnFile(request));
    // 409: it is there, and an import that was just sent is in the way.
    expect([200, 202, 409], `${request.operation.name}: ${JSON.stringify(body)}`).toContain(status);
  }
}

/** A source collects again only what was withdrawn of it. */
async function withWithdrawnFile(request: Request): Promise<Request> {
  const [, sourceId] = /\/sources\/(\d+)\/collect-again$/.exec(request.target) ?? [];
  if (sourceId === undefined) return request;
  return { ...request, body: { import_id: await insertWithdrawnFile(service.runtime.database, sourceId) } };
}

/** Makes the requests that name no object and change something of the caller's own. @returns the answers. */
async function askTheRest(actor: Actor): Promise<Answer[]> {
  const answers: Answer[] = [];
  const referring = new Set(
    requestsAbout(operations, nobodysIn, actor).map(({ operation }) => operation.name),
  );
  const rest = operations.filter(({ name, method }) => method !== 'GET' && !referring.has(name));
  for (const operation of rest) {
    const schema = operation.bodies.get('application/json') ?? null;
    const body = schema === null ? {} : { body: leastBody(schema) };
    answers.push(await ask(actor, { operation, target: operation.path, ...body }));
    expect([200, 202], operation.name).toContain(answers.at(-1)?.status);
  }
  return answers;
}

/** The paths of an operation, one for each object that a key sees. */
function targetsOf(operation: Operation, actor: Actor): string[] {
  const [, name] = /\{(\w+)\}/.exec(operation.path) ?? [];
  const ids = name === undefined ? [''] : idsOf(actor.own, collectionOf(operation.path, name));
  return ids.map((id) => fill(operation, () => id));
}

/** Everything that a key can read: each listing, and objects of each kind. */
async function readEverything(actor: Actor): Promise<unknown[]> {
  const requests = operations
    .filter(({ method }) => method === 'GET')
    .flatMap((operation) => {
      const targets = targetsOf(operation, actor);
      return [...new Set([0, 1, 2].map((turn) => pick(targets, turn)))].map((target) => ({
        operation,
        target,
      }));
    });
  return (await askAll(actor, requests)).map((answer, index) => [requests[index]?.target, told(answer)]);
}

/** Each listing holds the objects of its key, and no others; a listing below another object is read for each of these. */
async function expectListed(actor: Actor): Promise<void> {
  for (const operation of operations) {
    const collection = operation.path.split('/').at(-1) ?? '';
    if (operation.method !== 'GET' || !Object.hasOwn(actor.own, collection)) continue;
    const requests = targetsOf(operation, actor).map((target) => ({ operation, target }));
    const answers = await askAll(actor, requests);
    // A key that is limited to accounts may list neither keys nor withdrawals.
    if (['apikeys', 'withdrawals'].includes(collection) && answers.every(({ status }) => status === 403))
      continue;
    const rows: { id: string | number }[] = answers.flatMap(({ body }) => body[collection]);
    const listed = rows.map(({ id }) => String(id));
    expect(listed.sort(), operation.name).toEqual(idsOf(actor.own, collection).toSorted());
  }
}

const without = (all: Objects, seen: Objects): Objects => ({
  accounts: all.accounts.filter((id) => !seen.accounts.includes(id)),
  // A key limited to accounts sees all its customer's banks, and makes no account at any.
  banks: all.banks,
  webhooks: all.webhooks.filter((id) => !seen.webhooks.includes(id)),
  transactions: all.transactions.filter((id) => !seen.transactions.includes(id)),
  deliveries: all.deliveries.filter((id) => !seen.deliveries.includes(id)),
  imports: all.imports.filter((id) => !seen.imports.includes(id)),
  statements: all.statements.filter((id) => !seen.statements.includes(id)),
  withdrawals: all.withdrawals.filter((id) => !seen.withdrawals.includes(id)),
  conflicts: all.conflicts.filter((id) => !seen.conflicts.includes(id)),
  apikeys: all.apikeys.filter((id) => !seen.apikeys.includes(id)),
  replays: all.replays.filter((id) => !seen.replays.includes(id)),
  sources: all.sources.filter((id) => !seen.sources.includes(id)),
});

function expectNothingOf({ secrets }: World, answers: unknown): void {
  const text = JSON.stringify(answers);
  for (const secret of secrets) expect(text).not.toContain(secret);
}

const whole = ({ key, all }: World): Actor => ({ key, own: all });
const limited = ({ limitedKey, limited: own }: World): Actor => ({ key: limitedKey, own });

/** Follows the owner's links with another key, because a cursor is a position and gives no rights. */
async function expectOwnRowsBehind(linksOf: Actor, follower: Actor): Promise<void> {
  const { headers } = await service.call('GET', '/v1/transactions?starts=2000-01-01&per_page=1', {
    key: linksOf.key,
  });
  const [, link = ''] = /^<([^>]+)>/.exec(headers.get('link') ?? '') ?? [];
  expect(link).toMatch(/cursor=/);
  for (const row of await readAll(service, follower.key, link))
    expect(follower.own.accounts).toContain(String(row.account_id));
}

/** The Idempotency-Key of another caller's import is free, and rows for another caller's accounts are refused. */
async function expectOwnImports(actor: Actor, other: World, account: string): Promise<unknown> {
  const send = async (accountId: string) => {
    const { status, body } = await service.call('POST', '/v1/imports', {
      key: actor.key,
      body: JSON.stringify(movement(accountId, { unique_id: 'same' })),
      type: 'application/x-ndjson',
      headers: accountId === account ? { 'Idempotency-Key': other.customer.name } : {},
    });
    expect(status).toBe(202);
    expect(other.all.imports).not.toContain(body.import.id);
    const done = await importDone(service, actor.key, body.import.id);
    const errors = await service.call('GET', `/v1/imports/${done.id}/errors`, { key: actor.key });
    expect(errors.body.import.id).toBe(done.id);
    return {
      inserted: done.inserted,
      duplicates: done.duplicates,
      rejected: done.rejected,
      errors: errors.body.errors,
      warnings: errors.body.warnings,
    };
  };
  const refused = await send(account);
  expect(refused).toEqual(await send(NOBODYS));
  expect(refused).toMatchObject({ inserted: 0, duplicates: 0, rejected: 1 });
  return refused;
}

describe('across all operations', () => {
  it('a customer neither reads, changes, sends again nor counts anything of another customer', async () => {
    await fc.assert(
      fc.asyncProperty(worldPlan('Kendi'), worldPlan('Yabanci'), async (ownPlan, otherPlan) => {
        const own = await createWorld(service, ownPlan);
        const before = [await readEverything(whole(own)), await readEverything(limited(own))];
        const other = await createWorld(service, otherPlan);
        expect([await readEverything(whole(own)), await readEverything(limited(own))]).toEqual(before);

        const states = [
          await readState(service, own.customer.id),
          await readState(service, other.customer.id),
        ];
        for (const actor of [whole(own), limited(own)]) {
          await expectListed(actor);
          expectNothingOf(other, await expectHidden(actor, other.all));
          await expectOwnRowsBehind(whole(other), actor);
        }
        expect([
          await readState(service, own.customer.id),
          await readState(service, other.customer.id),
        ]).toEqual(states);
        const [account = ''] = other.all.accounts;
        expectNothingOf(other, await expectOwnImports(whole(own), other, account));
        expectNothingOf(other, await askTheRest(whole(own)));
        expect(await readState(service, other.customer.id)).toEqual(states[1]);
        await expectOpen(whole(other), other.all);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('a key limited to accounts neither reads, changes nor sends again anything of other accounts', async () => {
    await fc.assert(
      fc.asyncProperty(worldPlan('Kendi'), async (plan) => {
        const world = await createWorld(service, plan);
        const hidden = without(world.all, world.limited);
        const before = await readState(service, world.customer.id);
        await expectListed(limited(world));
        await expectHidden(limited(world), hidden);
        await expectOwnRowsBehind(whole(world), limited(world));
        expect(await readState(service, world.customer.id)).toEqual(before);
        await expectOwnImports(limited(world), world, hidden.accounts[0] ?? '');
        await expectOpen(whole(world), hidden);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('every operation was covered by these tests', () => {
    expect(operations.map(({ name }) => name).filter((name) => !asked.has(name))).toEqual([]);
  });
});
