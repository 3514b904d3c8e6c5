import type { JsonSchema } from '../../support/json-schema.ts';
import { collectionOf, type Operation } from '../../support/operations.ts';
import { idsOf, type Objects } from '../../support/world.ts';

/** Whose key is used, and which of their objects it may see. */
export interface Actor {
  key: string;
  own: Objects;
}

export interface Request {
  operation: Operation;
  target: string;
  body?: object;
}

/** An id that no object has. */
export const NOBODYS = '999999999999';

/** The same id, in the form that the collection uses. */
export const nobodysIn = (collection: string): string =>
  collection === 'deliveries' ? `${NOBODYS}-${NOBODYS}` : NOBODYS;

/** A path with its ids filled in, and with the parameters that its listings need. */
export function fill(operation: Operation, idFor: (collection: string) => string): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => idFor(collectionOf(operation.path, name)));
  return operation.parameters.some(({ name }) => name === 'starts') ? `${path}?starts=2000-01-01` : path;
}

/** Values for required members whose good values the schema does not tell. */
const GOOD: Record<string, unknown> = {
  endpoint: 'http://127.0.0.1:9/',
  currency: 'TRY',
  since: '2000-01-01 00:00:00',
  date_issue: '2026-01-15',
  amount: '1.00',
  account: 'all',
  bank: 'Garanti BBVA',
  settings: { path: 'inbox' },
  schedule: { cron: '0 0 1 1 *' },
  import_id: NOBODYS,
};

/** Members that are required unless there is another one, which the schema cannot say: `bank` or `bank_id`, `event` or `events`, `endpoint` or `delivery`. */
export const alsoRequired = ({ properties = {}, required = [] }: JsonSchema, more: object = {}): string[] => [
  ...('bank' in properties && !('bank_id' in more) ? ['bank'] : []),
  ...('events' in properties && required.includes('account') ? ['endpoint'] : []),
  ...('events' in properties && required.includes('account') && !('events' in more) ? ['event'] : []),
];

/** The least body that an operation accepts, with `more` in it. */
export function leastBody(schema: JsonSchema, more: object = {}): object {
  const { properties = {}, required = [] } = schema;
  const names = [...required, ...alsoRequired(schema, more)];
  const least = names.map((name) => [name, leastValue(properties[name] ?? {}, name)]);
  return { ...Object.fromEntries(least), ...more };
}

function leastValue(schema: JsonSchema, name: string): unknown {
  if (name in GOOD) return GOOD[name];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'object') return leastBody(schema);
  if (schema.type === 'array') return [];
  return 'x';
}

/** Whether a schema is that of an id. It is recognised by its pattern of digits. */
const isId = ({ pattern }: JsonSchema) => pattern === '^[1-9][0-9]{0,17}$';

/** The collection of the ids in a member. Other members have the ids of accounts. */
const COLLECTIONS: Readonly<Record<string, string>> = { bank_id: 'banks', import_id: 'imports' };

/** One body for each member that names another object, with an id in that member. */
function bodiesNaming(idFor: (collection: string) => string, schema: JsonSchema): object[] {
  const values = (it: JsonSchema, name: string): unknown[] => {
    if (isId(it)) return [idFor(COLLECTIONS[name] ?? 'accounts')];
    if (it.anyOf !== undefined) return it.anyOf.flatMap((option) => values(option, name));
    if (it.items !== undefined) return values(it.items, name).map((value) => [value]);
    return Object.entries(it.properties ?? {}).flatMap(([member, inner]) =>
      values(inner, member).map((value) => leastBody(it, { [member]: value })),
    );
  };
  return values(schema, '') as object[];
}

/** All requests that name other objects: by an id in the path, or in a member of the body. */
export function requestsAbout(
  operations: readonly Operation[],
  idFor: (collection: string) => string,
  actor: Actor,
): Request[] {
  return operations.flatMap((operation) => {
    const schema = operation.bodies.get('application/json') ?? null;
    // A change must change something.
    const title = operation.method === 'PATCH' ? { title: 'Başka' } : {};
    const byPath = {
      operation,
      target: fill(operation, idFor),
      ...(schema === null ? {} : { body: leastBody(schema, title) }),
    };
    const ownPath = fill(operation, (collection) => idsOf(actor.own, collection)[0] ?? nobodysIn(collection));
    const byBody = schema === null ? [] : bodiesNaming(idFor, schema);
    return [
      ...(operation.path.includes('{') ? [byPath] : []),
      ...byBody.map((body) => ({ operation, target: ownPath, body })),
    ];
  });
}
