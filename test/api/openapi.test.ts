import { beforeAll, describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { createApps } from '../../src/api/routes/app.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

interface Operation {
  summary?: string;
  operationId?: string;
  tags?: string[];
  security?: unknown[];
  parameters?: {
    in: string;
    name: string;
    required?: boolean;
    schema?: { type?: string; default?: string };
  }[];
  requestBody?: { content: Record<string, object> };
  responses: Record<
    string,
    {
      description: string;
      headers?: object;
      content?: Record<string, { schema?: object; examples?: object }>;
    }
  >;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<'securitySchemes' | 'schemas' | 'parameters' | 'responses', Record<string, object>>;
  security: Record<string, unknown[]>[];
  tags: { name: string }[];
}

let document: Document;
let operations: { method: string; path: string; operation: Operation }[];

beforeAll(async () => {
  const { status, body } = await service.call('GET', '/openapi.json');
  expect(status).toBe(200);
  document = body;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: resolve(operation),
    })),
  );
});

/** The operation with its parameters and answers in place of references to them. */
function resolve(operation: Operation): Operation {
  const at = <T extends object>(it: T): T => {
    if (!('$ref' in it)) return it;
    const [, , kind = '', name = ''] = String(it.$ref).split('/');
    return document.components[kind as 'parameters']?.[name] as T;
  };
  const responses = Object.entries(operation.responses).map(([status, it]) => [status, at(it)]);
  return {
    ...operation,
    ...(operation.parameters && { parameters: operation.parameters.map(at) }),
    responses: Object.fromEntries(responses),
  };
}

/** The errors that an operation may answer with. */
const problemsOf = ({ responses }: Operation) =>
  Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.['application/problem+json']?.examples ?? {}),
  );

describe('/openapi.json', () => {
  it('is an OpenAPI 3.1 document', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({
      title: 'Ledgerbell',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it('has every route under /v1, and no other', () => {
    const { customers: app } = createApps(service.runtime, {
      guard: createAddressGuard({ allow: [] }),
      reader: createStatementFormats([], READ_SETTINGS),
    });
    const routes = new Set(
      app.routes
        .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/v1/'))
        .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    expect(described.filter((it) => it.includes('/v1/')).sort()).toEqual([...routes].sort());
    expect(described).toEqual(expect.arrayContaining(['GET /healthz', 'GET /readyz']));
  });

  it('says that each operation under /v1 needs a key, and that the others do not', () => {
    const schemes = Object.keys(document.components.securitySchemes);
    expect(document.security.flatMap((it) => Object.keys(it)).sort()).toEqual(schemes.sort());
    for (const { path, operation } of operations) {
      if (path.startsWith('/v1/')) {
        expect(operation.security).toBeUndefined();
        expect(problemsOf(operation)).toEqual(
          expect.arrayContaining(['missing-api-key', 'rate-limited', 'database-unavailable']),
        );
      } else {
        expect(operation.security).toEqual([]);
      }
    }
  });

  it('describes the rate limit on each answer under /v1, and Retry-After', () => {
    for (const { path, operation } of operations) {
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        const names = path.startsWith('/v1/') ? ['RateLimit-Policy', 'RateLimit'] : [];
        if (/409|429|503|default/.test(status)) names.push('Retry-After');
        const own = Object.keys(headers).filter((name) => /^RateLimit|^Retry/.test(name));
        expect(own, `${path} ${status}`).toEqual(names);
        expect(Object.keys(headers)).toContain('X-Request-Id');
      }
    }
  });

  it('has its groups in the order in which a program needs them, and each operation in one of them', () => {
    const names = document.tags.map(({ name }) => name);
    expect([names[0], names.at(-1)]).toEqual(['Accounts', 'Health']);
    expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(
      new Set(names.filter((name) => name !== 'Notifications')),
    );
  });

  it('gives each operation a summary, a unique name, a tag and a success', () => {
    for (const { operation } of operations) {
      expect(operation.summary).toMatch(/./);
      expect(operation.tags).toHaveLength(1);
      // A dry run accepts nothing.
      const isAccepted = ['createImport', 'withdrawImport', 'withdrawStatement'].includes(
        operation.operationId ?? '',
      );
      const successes = isAccepted ? ['200', '202'] : [expect.any(String)];
      expect(Object.keys(operation.responses).filter((status) => status.startsWith('2'))).toEqual(successes);
      for (const response of Object.values(operation.responses)) expect(response.description).toMatch(/./);
    }
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(operations.length);
  });

  it('declares each parameter of a path once, as required', () => {
    for (const { path, operation } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(named);
      for (const parameter of declared) {
        expect(parameter).toMatchObject({ required: true, schema: expect.any(Object) });
      }
    }
  });

  it('has a schema for each body, in and out, with references only inside the document', () => {
    const bodies = operations.flatMap(({ operation }) => [
      ...Object.entries(operation.requestBody?.content ?? {}),
      ...Object.values(operation.responses).flatMap(({ content = {} }) => Object.entries(content)),
    ]);
    for (const [type, body] of bodies) {
      if (/json$/.test(type) && !/ndjson$/.test(type)) expect(body).toHaveProperty('schema');
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to ?? '');
    for (const reference of references) {
      const target = reference
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
      expect(target, reference).toBeDefined();
    }
  });

  it('names the header that makes a POST safe to repeat', () => {
    for (const { method, operation } of operations) {
      const names = operation.parameters?.filter((it) => it.in === 'header').map(({ name }) => name) ?? [];
      const own = operation.operationId === 'readFeed' ? ['Last-Event-ID'] : [];
      expect(names, operation.operationId).toEqual(method === 'POST' ? ['Idempotency-Key'] : own);
      if (method === 'POST') expect(problemsOf(operation)).toContain('request-in-progress');
    }
  });

  it('tells the errors of one status apart by their types', () => {
    const { operation } = operations.find((it) => it.operation.operationId === 'createWebhook') ?? {};
    const { schema } = operation?.responses['403']?.content?.['application/problem+json'] ?? {};
    expect(schema).toEqual({
      allOf: [{ $ref: '#/components/schemas/Problem' }],
      oneOf: [
        { $ref: '#/components/schemas/MissingScopeProblem' },
        { $ref: '#/components/schemas/LimitedApiKeyProblem' },
      ],
    });
    expect(document.components.schemas).toMatchObject({
      MissingScopeProblem: {
        allOf: [{ $ref: '#/components/schemas/Problem' }],
        properties: { type: { const: '/problems/missing-scope' }, status: { const: 403 } },
      },
    });
  });

  it('lists a status with errors of every route in default alone, and the document is small', () => {
    for (const { path, operation } of operations) {
      if (!path.startsWith('/v1/')) continue;
      const { default: other, ...listed } = operation.responses;
      expect(problemsOf({ responses: { default: other ?? { description: '' } } })).toContain('internal');
      expect(Object.keys(listed).filter((status) => /401|408|431|500/.test(status))).toEqual([]);
      expect(Object.keys(listed)).toContain('422');
    }
    expect(JSON.stringify(document).length).toBeLessThan(295_600);
  });

  it('shows the fields of a webhook and a movement', () => {
    const schemaOf = (path: string) => document.paths[path]?.post?.requestBody?.content['application/json'];
    expect(schemaOf('/v1/webhooks')).toMatchObject({ schema: { $ref: '#/components/schemas/NewWebhook' } });
    expect(schemaOf('/v1/imports')).toMatchObject({ schema: { $ref: '#/components/schemas/NewImport' } });
    const { NewWebhook, NewTransaction } = document.components.schemas;
    const webhook = JSON.stringify(NewWebhook);
    for (const field of [
      'title',
      'endpoint',
      'event',
      'account',
      'NEW_TRANSACTION',
      'NEW_DEBIT',
      'NEW_CREDIT',
    ]) {
      expect(webhook).toContain(`"${field}"`);
    }
    const imports = JSON.stringify(NewTransaction);
    for (const field of ['account_id', 'dc', 'amount', 'date_issue', 'unique_id'])
      expect(imports).toContain(`"${field}"`);
  });

  it('names no default that the API refuses, because generated clients send defaults', async () => {
    const { api_key: key } = await service.customer();
    const { parameters = [] } =
      operations.find((it) => it.operation.operationId === 'createImport')?.operation ?? {};
    const defaults = parameters.flatMap(({ name, schema }) =>
      schema?.default === undefined ? [] : [`${name}=${schema.default}`],
    );
    expect(defaults.length).toBeGreaterThan(3);
    for (const body of [{ transactions: [] }, '{}\n']) {
      const type = typeof body === 'string' ? 'application/x-ndjson' : 'application/json';
      const answer = await service.call('POST', `/v1/imports?${defaults.join('&')}`, {
        key,
        body,
        type,
      });
      expect([type, answer.status]).toEqual([type, 202]);
    }
  });

  it.each(['listTransactions', 'listWebhooks', 'listImports', 'listConflicts'])(
    'names no default that %s refuses',
    async (operationId) => {
      const { api_key: key } = await service.customer();
      const { path, operation } = operations.find((it) => it.operation.operationId === operationId) ?? {};
      const defaults = (operation?.parameters ?? []).flatMap(({ name, schema }) =>
        schema?.default === undefined ? [] : [`${name}=${schema.default}`],
      );
      const needed = operationId === 'listTransactions' ? ['starts=2026-01-01'] : [];
      expect(defaults.length).toBeGreaterThan(0);
      const { status } = await service.call('GET', `${path}?${[...needed, ...defaults].join('&')}`, { key });
      expect(status).toBe(200);
    },
  );

  it('lists each query parameter separately, so that generated clients can name it', () => {
    for (const { operation } of operations)
      for (const { schema } of operation.parameters ?? [])
        expect(schema?.type).toMatch(/string|integer|boolean/);
    const { operation } = operations.find((it) => it.path === '/v1/transactions') ?? {};
    const names = operation?.parameters?.map(({ name }) => name);
    expect(names).toEqual(
      'starts ends after dc amount amount_min amount_max currency q opponent_iban unique_id import_id withdrawn order page per_page cursor fields format columns separator decimal bom raw account'.split(
        ' ',
      ),
    );
  });
});
