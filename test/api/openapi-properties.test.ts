import { beforeAll, describe, expect, it } from 'vitest';
import { useService } from '../support/service.ts';
import { propertiesOf } from './openapi-examples/properties.ts';

/** Whether the examples of /openapi.json show each property, and each error. */

// biome-ignore lint/suspicious/noExplicitAny: documents of any form.
type Json = any;

const service = useService({ roles: ['api'] });

let documents: Json[];

beforeAll(async () => {
  const ofCustomers = (await service.call('GET', '/openapi.json')).body;
  documents = [ofCustomers, (await service.callOps('GET', '/openapi.json')).body];
});

/** Properties without an example, each with the reason. */
const WITHOUT: Readonly<Record<string, string>> = {
  'Account.error': 'The service always answers null: nothing sets it.',
  'createImport body.file': 'It is the bytes of a file, which JSON cannot show.',
};

describe('the examples of /openapi.json', () => {
  it('have a value of each property that is not in the table', () => {
    const missing = documents.flatMap((it) => propertiesOf(it).withoutExample);
    expect([...new Set(missing)].toSorted()).toEqual(Object.keys(WITHOUT).toSorted());
  });

  it('show a new property as missing, and one in a list or a union too', () => {
    const schema = {
      type: 'object',
      properties: {
        known: { type: 'string' },
        list: { type: 'array', items: { type: 'object', properties: { empty: {}, filled: {} } } },
        union: { anyOf: [{ type: 'object', properties: { one: {} } }, { type: 'null' }] },
        own: { type: 'string', examples: ['x'] },
      },
    };
    const example = { known: 'x', list: [{ empty: '', filled: 0 }], union: null };
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/It' }, example } };
    const paths = { '/it': { get: { operationId: 'getIt', responses: { 200: { content } } } } };
    const document = { paths, components: { schemas: { It: schema }, responses: {} } };
    expect(propertiesOf(document)).toEqual({
      all: ['It.known', 'It.list', 'It.list.empty', 'It.list.filled', 'It.union', 'It.union.one', 'It.own'],
      withoutExample: ['It.list.empty', 'It.union', 'It.union.one'],
    });
  });

  it('have each error, as its schema says', () => {
    for (const { components } of documents) {
      const problems = Object.entries<Json>(components.schemas).filter(
        ([, it]) => it.properties?.type?.const,
      );
      expect(problems.length).toBeGreaterThan(20);
      for (const [name, { properties, allOf }] of problems) {
        const { type, status } = properties;
        const { value } = components.examples[type.const.replace('/problems/', '')] ?? {};
        expect(value, name).toMatchObject({ type: type.const, status: status.const });
        const needsErrors = JSON.stringify(allOf).includes('ProblemWithErrors');
        expect('errors' in value, name).toBe(needsErrors);
      }
    }
  });
});
