import { beforeAll, describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { createRoutes } from '../../src/api/routes/app.ts';
import { admissionOf, type TableRow } from '../../src/api/routes/route.ts';
import { OPERATOR_ROLES, type OperatorRole, SCOPES } from '../../src/customers/caller.ts';
import { createCallerCache } from '../../src/http/admission.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { documentedNeeds, namedRequests } from '../docs/who-may-do-what.ts';
import { type Answer, useService } from '../support/service.ts';
import { tokenOf } from './support.ts';

const service = useService({ roles: ['api'] });

let table: readonly TableRow[];
let tokens: Record<OperatorRole, string>;
let customer: { key: string; id: string };

beforeAll(async () => {
  const parts = {
    guard: createAddressGuard({ allow: [] }),
    reader: createStatementFormats([], READ_SETTINGS),
  };
  table = createRoutes(service.runtime, parts, createCallerCache());
  const [viewer, operator, admin] = await Promise.all(OPERATOR_ROLES.map((role) => tokenOf(service, role)));
  tokens = { viewer, operator, admin } as typeof tokens;
  const made = await service.customer();
  customer = { key: made.api_key, id: made.customer.id };
});

/** No id of anything. */
const NOBODY = '999999999';

const requestOf = ({ endpoint }: TableRow): [method: string, path: string] => {
  const [method = '', path = ''] = endpoint.split(' ');
  return [method, path.replaceAll(/:\w+/g, NOBODY)];
};

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** What an answer says about the one who asked: the problem, if it is one of admission. */
const refusalOf = ({ status, body }: Answer): string | null => {
  const problem = String(body?.type ?? '').replace('/problems/', '');
  const isNoPath = [404, 405].includes(status) && /path/.test(String(body?.detail));
  if (isNoPath) return 'no such route';
  return [401, 403].includes(status) || /Ledgerbell-Customer/.test(String(body?.detail)) ? problem : null;
};

/** Calls every route in turn. @returns the routes with what refused the caller. */
async function walk(send: (method: string, path: string) => Promise<Answer>) {
  const refusals: [endpoint: string, refusal: string | null][] = [];
  for (const row of table) refusals.push([row.endpoint, refusalOf(await send(...requestOf(row)))]);
  return refusals;
}

const expected = (refusal: (row: TableRow) => string | null) =>
  table.map((row): [string, string | null] => [row.endpoint, refusal(row)]);

const rank = (role: OperatorRole | null) => (role === null ? -1 : OPERATOR_ROLES.indexOf(role));

describe("the operators' listener", () => {
  const asOperator = (token: string | undefined, headers: Record<string, string> = {}) =>
    walk((method, path) =>
      service.callOps(method, path, {
        headers: { ...(token === undefined ? {} : bearer(token)), ...headers },
      }),
    );

  it.each(OPERATOR_ROLES)('admits the role %s where the table says so', async (role) => {
    expect(await asOperator(tokens[role], { 'ledgerbell-customer': customer.id })).toEqual(
      expected((row) => (rank(admissionOf(row).role) <= rank(role) ? null : 'missing-role')),
    );
  });

  it('asks for a customer on routes that are about one', async () => {
    expect(await asOperator(tokens.admin)).toEqual(
      expected((row) => (admissionOf(row).isOfCustomer ? 'invalid' : null)),
    );
  });

  it('admits nobody without a token, and no API key', async () => {
    const nobody = expected(() => 'missing-operator-token');
    expect(await asOperator(undefined)).toEqual(nobody);
    expect(await asOperator(customer.key, { 'ledgerbell-customer': customer.id })).toEqual(nobody);
  });
});

describe("the API's listener", () => {
  const withHeaders = (headers: Record<string, string>) =>
    walk((method, path) => service.call(method, path, { headers }));

  it('admits an API key with all scopes, and has no route of operators', async () => {
    expect(await withHeaders({ authentication: customer.key })).toEqual(
      expected((row) => (admissionOf(row).scope === null ? 'no such route' : null)),
    );
  });

  it("admits no operator's token, and nobody without a key", async () => {
    for (const role of OPERATOR_ROLES)
      expect(await withHeaders({ ...bearer(tokens[role]), 'ledgerbell-customer': customer.id })).toEqual(
        expected(() => 'unknown-api-key'),
      );
    expect(await withHeaders({})).toEqual(expected(() => 'missing-api-key'));
  });
});

it('docs/security.md says who may do what', () => {
  const may = (row: TableRow, role: OperatorRole) =>
    rank(admissionOf(row).role) <= rank(role) ? 'yes' : '–';
  for (const row of table) {
    const { scope } = admissionOf(row);
    const needed = SCOPES.filter((it) => it === scope || (scope !== null && it === row.alsoNeeds));
    expect(documentedNeeds(row.endpoint), row.endpoint).toEqual({
      scopes: needed.length === 0 ? '–' : needed.map((it) => `\`${it}\``).join(', '),
      roles: OPERATOR_ROLES.map((role) => may(row, role)).join(' | '),
    });
  }
  const endpoints = new Set(table.map(({ endpoint }) => endpoint));
  expect([...namedRequests.keys()].filter((it) => !endpoints.has(it))).toEqual([]);
});
