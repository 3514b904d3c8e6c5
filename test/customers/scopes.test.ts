import { expect, it } from 'vitest';
import { SCOPES } from '../../src/customers/caller.ts';
import { documentedNeeds, namedRequests } from '../docs/who-may-do-what.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

it('each route needs the scopes that docs/security.md says, and every set of scopes that lacks one is refused', async () => {
  const { api_key: key } = await service.customer();
  const { paths } = (await service.call('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, { security?: unknown[] }>>;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security }]) =>
      security?.length === 0 ? [] : [{ method: method.toUpperCase(), path }],
    ),
  );
  const sets = Array.from({ length: 2 ** SCOPES.length - 1 }, (_, set) =>
    SCOPES.filter((_, place) => ((set + 1) >> place) & 1),
  );
  /** By route: the sets of scopes with which it is not refused. */
  const allowed = new Map<string, (typeof sets)[number][]>();
  for (const scopes of sets) {
    const body = { title: scopes.join(' '), account: 'all', scopes };
    const { apikey } = (await service.call('POST', '/v1/apikeys', { key, body })).body.apikey;
    for (const { method, path } of routes) {
      const { status, body: answer } = await service.call(method, path.replaceAll(/\{\w+\}/g, '999999999'), {
        key: apikey,
        ...(method === 'GET' ? {} : { body: {} }),
      });
      const isRefused = status === 403 && answer.type === '/problems/missing-scope';
      const name = `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      if (!isRefused) allowed.set(name, [...(allowed.get(name) ?? []), scopes]);
    }
  }
  for (const [route, sets] of allowed) {
    const needed = SCOPES.filter((scope) => sets.every((scopes) => scopes.includes(scope)));
    // Every set that contains these scopes is accepted.
    expect(sets, route).toHaveLength(2 ** (SCOPES.length - needed.length) - (needed.length === 0 ? 1 : 0));
    expect(documentedNeeds(route)?.scopes, route).toBe(needed.map((scope) => `\`${scope}\``).join(', '));
  }
  const ofKeys = [...namedRequests].filter(([, { scopes }]) => scopes !== '–').map(([request]) => request);
  expect(ofKeys.filter((it) => !allowed.has(it))).toEqual([]);
});

it('a dry run with a key without the scope read says that a row is known, but does not show the known movement', async () => {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key);
  const rows = { transactions: [movement(account, { unique_id: 'known' })] };
  await service.call('POST', '/v1/imports', { key, body: rows });
  const scoped = async (...scopes: string[]) => {
    const body = { title: 'x', account: 'all', scopes };
    const { apikey } = (await service.call('POST', '/v1/apikeys', { key, body })).body.apikey;
    return service.call('POST', '/v1/imports?dry_run=true', { key: apikey, body: rows });
  };
  const known = { known: true, reason: 'same' };
  expect((await scoped('import', 'read')).body.transactions).toMatchObject([
    { ...known, stored: { unique_id: 'known' } },
  ]);
  expect((await scoped('import')).body.transactions).toMatchObject([{ ...known, stored: null }]);
});
