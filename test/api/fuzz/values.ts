import fc from 'fast-check';
import { encodeCursor } from '../../../src/http/paging.ts';
import { disagreements, type JsonSchema } from '../../support/json-schema.ts';
import type { World } from '../../support/world.ts';
import { alsoRequired } from '../tenants/requests.ts';
import { literal, type Node } from './json-text.ts';

/** Stands in every invented text; no error may repeat it. */
export const MARKER = 'mArKeR5ce1';

/** Texts that break programs. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\u0000',
      `${MARKER}\u0000`,
      '\ud800',
      `\udfff${MARKER}`,
      '\u202e',
      '\u200b',
      'İıŞğ',
      'ß'.repeat(300),
      '\uFEFF',
      '🙂'.repeat(150),
      'null',
      '__proto__',
      "'; DROP TABLE transactions; --",
      '%s%n',
      '../../../etc/passwd',
      '\r\nX-Injected: 1',
      '\\',
      `${MARKER}'"\\`,
      '0',
      '-0',
      '1e400',
      'NaN',
      '9'.repeat(30),
      '0x10',
      '１２',
      '1,5',
      '1.005',
      '2026-02-30',
      '0000-00-00 00:00:00',
      '9999-12-31 23:59:59-14',
      '2026-01-01T00:00:00Z',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(64, 255, 2_048, 4_000, 4_001).map((n) => MARKER.padEnd(n, 'x')) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => MARKER + text) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
);

/** Values that no member expects, or that this member does not expect. */
export const hostileNode: fc.Arbitrary<Node> = fc.oneof(
  { weight: 3, arbitrary: hostileText.map((text) => literal(JSON.stringify(text))) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(
        'null',
        'true',
        'false',
        '0',
        '-0',
        '-1',
        '1.5',
        '1e400',
        '-1e400',
        '1e-400',
        '9007199254740993',
        '18446744073709551616',
        '9'.repeat(400),
        '[]',
        '{}',
        '[[]]',
        '[null]',
        '{"__proto__":{"all":true}}',
      )
      .map(literal),
  },
);

/** Ids in a path for which there is no object, encoded as in the path. */
export const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '+1',
    '01',
    '1.0',
    '1e0',
    '0x1',
    '%31%00',
    '999999999999999999',
    '9'.repeat(30),
    `1${'0'.repeat(30)}`,
    '%EF%BC%91',
    '%D9%A1',
    '%',
    '%zz',
    '%ff',
    '%c0%ae',
    '%2f',
    '%2e%2e',
    '..',
    '.',
    '%00',
    '%0d%0a',
    '1;2',
    '1%20',
    "1'--",
    '1,2',
    '*',
    'null',
    'undefined',
    '__proto__',
    ':id',
    '{id}',
    MARKER,
  ),
  hostileText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 3_000)),
);

/** Good values for the names whose meaning the schema does not tell. A new required name needs a line here. */
export function samples({ all }: World, endpoint: string): Record<string, readonly unknown[]> {
  const cursors = [...all.deliveries.slice(0, 2), '0', '999999999999999999'].flatMap((id) =>
    (['t1', 'u1', 'y1', 'm2'] as const).map((kind) => encodeCursor(id, kind)),
  );
  return {
    endpoint: [
      endpoint,
      `${endpoint}/${'ğ'.repeat(300)}`,
      `${endpoint}/${'ğ'.repeat(2_000)}`,
      `${endpoint}?\ud800#x`,
      'http://127.0.0.1:9/',
      'http://[::ffff:127.0.0.1]:9/',
      'http://127.0.0.1:9/other',
      'http://10.0.0.1/',
      'http://0x7f000001:9/',
      'ftp://127.0.0.1/',
      `http://${MARKER}:x@127.0.0.1:9/`,
      'http://',
    ],
    currency: ['TRY', 'EUR'],
    iban: ['TR330006100519786457841326', 'tr33 0006 1005 1978 6457 8413 26'],
    starts: ['2026-01-01', '1000-01-01'],
    ends: ['2026-12-31', '9999-12-31'],
    after: ['2000-01-01 00:00:00', '2026-01-01T00:00:00%2B03'],
    since: ['2000-01-01 00:00:00'],
    until: ['2999-01-01 00:00:00+03'],
    date_issue: ['2026-01-15', '1000-01-01', '9999-12-31'],
    page: ['1', '2', '1000', '999999999999'],
    per_page: ['1', '2', '1000'],
    cursor: cursors,
    status: ['pending', 'delivered', 'failed', 'cancelled'],
    account: all.accounts,
    account_id: [...all.accounts, ...all.accounts.map(Number)],
    bank_id: ['1'],
    // Few lists of events go together.
    events: [
      ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'],
      ['WITHDRAWN_TRANSACTION', 'NEW_DEBIT'],
      ['WITHDRAWN_TRANSACTION'],
      ['OPERATIONAL'],
      ['NEW_DEBIT', 'NEW_CREDIT'],
    ],
    // These values fit every other setting.
    delivery: ['push'],
    batch: [null],
    kind: ['folder'],
    settings: Array.from({ length: 50 }, (_, i) => ({ path: `inbox/${i}` })),
    credentials: [null],
    schedule: [{ every: '31d' }, { cron: '30 6 * * 1-5', time_zone: 'Europe/Istanbul' }],
    profile: ['garanti-bbva'],
    format: ['auto', 'mt940', 'csv', 'json'],
    create_accounts: ['true', 'false'],
    dry_run: ['true', 'false'],
    dc: ['Debit', 'Credit'],
    amount: ['1250', '1250.00'],
    amount_min: ['0', '10.5'],
    amount_max: ['1250.001', '9999'],
    q: ['eft%20sukru', '%C4%B1'],
    opponent_iban: ['TR330006100519786457841326'],
    unique_id: ['a'],
    import_id: ['1', ...all.imports],
    withdrawn: ['only'],
    order: ['oldest', 'newest'],
    columns: ['id,amount', 'signed_amount'],
    separator: ['comma', 'semicolon'],
    decimal: ['point', 'comma'],
    bom: ['true', 'false'],
    raw: ['true', 'false'],
  };
}

/** Values for a schema. Most fit it, and some are just beyond one of its bounds. */
export function valuesOf(
  schema: JsonSchema,
  name: string,
  known: Record<string, readonly unknown[]>,
): fc.Arbitrary<unknown> {
  const bounds = boundsOf(schema);
  const good = goodValuesOf(schema, name, known);
  return bounds.length === 0
    ? good
    : fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: fc.constantFrom(...bounds) });
}

function goodValuesOf(
  schema: JsonSchema,
  name: string,
  known: Record<string, readonly unknown[]>,
): fc.Arbitrary<unknown> {
  const fitting = (known[name] ?? []).filter((value) => disagreements(schema, value).length === 0);
  if (fitting.length > 0) return fc.constantFrom(...fitting);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((it) => valuesOf(it, name, known)));
  if (schema.allOf !== undefined) return valuesOf(Object.assign({}, ...schema.allOf), name, known);
  switch (schema.type) {
    case 'object':
      return objectsOf(schema, known);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, name, known), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 1_000 });
    default:
      return schema.pattern === undefined
        ? fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: 20 })
        : fc.stringMatching(new RegExp(schema.pattern), { maxLength: 20 });
  }
}

function objectsOf(schema: JsonSchema, known: Record<string, readonly unknown[]>): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  if (typeof additionalProperties === 'object') {
    return fc.dictionary(
      fc.stringMatching(new RegExp(propertyNames?.pattern ?? '^[a-z]+$'), { maxLength: 10 }),
      valuesOf(additionalProperties, '', known),
      { maxKeys: 3 },
    );
  }
  const members = Object.entries(properties).map(
    ([name, member]) => [name, valuesOf(member, name, known)] as const,
  );
  const requiredKeys = [...required, ...alsoRequired(schema)];
  /** Many optional members are seldom allowed together, so that a third of the objects has one at most. */
  const few = fc.option(fc.nat(members.length), { freq: 2, nil: null });
  return fc
    .tuple(fc.record<Record<string, unknown>>(Object.fromEntries(members), { requiredKeys }), few)
    .map(([all, kept]) => {
      const isKept = (name: string) => requiredKeys.includes(name) || name === members[kept ?? 0]?.[0];
      const { event, ...others } = Object.fromEntries(
        Object.entries(all).filter(([name]) => kept === null || isKept(name)),
      );
      return 'events' in others || event === undefined ? others : { event, ...others };
    });
}

/** The values on both sides of each bound that the schema itself states. */
function boundsOf({ minLength, maxLength, minItems, maxItems, minimum, maximum }: JsonSchema): unknown[] {
  const lengths = [minLength, maxLength].flatMap((n) =>
    n === undefined ? [] : [n - 1, n, n + 1].filter((it) => it >= 0),
  );
  const counts = [minItems, maxItems].flatMap((n) =>
    n === undefined ? [] : [n - 1, n, n + 1].filter((it) => it >= 0),
  );
  return [
    ...lengths.flatMap((n) => ['x'.repeat(n), 'ğ'.repeat(n), '🙂'.repeat(n)]),
    ...counts.map((n) => Array.from({ length: n }, () => '1')),
    ...[minimum, maximum].flatMap((n) => (n === undefined ? [] : [n - 1, n, n + 1])),
  ];
}
