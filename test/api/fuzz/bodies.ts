import fc from 'fast-check';
import { mt940 } from '../../intake/statement-files.ts';
import { disagreements, type JsonSchema } from '../../support/json-schema.ts';
import type { Operation } from '../../support/operations.ts';
import type { WireRequest } from './exchange.ts';
import { change, changeAt, toNode, toText } from './json-text.ts';
import { hostileNode, hostileText, MARKER, valuesOf } from './values.ts';

/** The parts of a request. */
export interface Content {
  headers: [name: string, value: string][];
  body: WireRequest['body'];
  /** The reason why it must not be accepted; null when the document leaves it open. */
  flaw: string | null;
}

/** Bodies of an operation, with their headers. */
export function contentOf(
  operation: Operation,
  known: Record<string, readonly unknown[]>,
): fc.Arbitrary<Content> {
  const kinds = [...operation.bodies].map(([type, schema]) =>
    schema === null ? textOf(type, operation, known) : jsonOf(type, schema, known),
  );
  const none: Content = { headers: [], body: null, flaw: kinds.length > 0 ? 'there is no body' : null };
  const unasked: Content = {
    headers: [['Content-Type', 'application/json']],
    body: { text: `{"${MARKER}":1}`, encoding: 'utf8' },
    flaw: null,
  };
  return kinds.length === 0
    ? fc.oneof({ weight: 5, arbitrary: fc.constant(none) }, { weight: 1, arbitrary: fc.constant(unasked) })
    : fc.oneof(
        ...kinds.map((arbitrary) => ({ weight: 12, arbitrary })),
        { weight: 1, arbitrary: fc.constant(none) },
        { weight: 2, arbitrary: brokenBody([...operation.bodies.keys()]) },
      );
}

/** JSON that fits, or is a few changes away from it. */
function jsonOf(
  type: string,
  schema: JsonSchema,
  known: Record<string, readonly unknown[]>,
): fc.Arbitrary<Content> {
  return fc
    .tuple(
      valuesOf(schema, '', known),
      fc.array(fc.tuple(fc.nat(1_000), change(hostileNode)), { maxLength: 2 }),
    )
    .map(([value, changes]) => {
      const node = changes.reduce((root, [position, by]) => changeAt(root, position, by), toNode(value));
      const text = toText(node);
      return {
        headers: [['Content-Type', type]],
        body: { text, encoding: 'utf8' },
        flaw: flawOf(schema, text),
      };
    });
}

/** The reason why the document does not allow this text, or null. Spaces at its ends may be removed before it is measured. */
function flawOf(schema: JsonSchema, text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text, (_name, it: unknown) => (typeof it === 'string' ? it.trim() : it));
  } catch {
    return 'is no JSON';
  }
  return disagreements(schema, value)[0] ?? null;
}

/** A statement file, or lines of the operation's JSON values, good and bad, under a type that has no schema. */
function textOf(
  type: string,
  { bodies }: Operation,
  known: Record<string, readonly unknown[]>,
): fc.Arbitrary<Content> {
  const item = [...bodies.values()].flatMap((schema) => Object.values(schema?.properties ?? {}))[0]?.items;
  const line = fc.oneof(
    { weight: 3, arbitrary: valuesOf(item ?? {}, '', known).map((value) => toText(toNode(value))) },
    { weight: 1, arbitrary: hostileNode.map(toText) },
    { weight: 1, arbitrary: hostileText },
  );
  const lines = fc.array(line, { maxLength: 4 }).map((some) => some.join('\n'));
  const text =
    type === 'application/x-ndjson'
      ? lines
      : fc.oneof(fc.constant(mt940([{ day: 2, amount: 250.5 }])), lines);
  return text.map((body) => ({
    headers: [['Content-Type', type]],
    body: { text: body, encoding: 'utf8' },
    flaw: null,
  }));
}

/** Bodies that are refused whatever the schema says. */
function brokenBody(types: readonly string[]): fc.Arbitrary<Content> {
  const wrongType = fc.constantFrom(
    '',
    'text/plain',
    'application/xml',
    'application/jsonp',
    'multipart/form-data',
    MARKER,
    ';',
    'application/json, text/plain',
  );
  const text = fc.constantFrom(
    '',
    ' ',
    '{',
    '{}}',
    '{"a":1,}',
    "{'a':1}",
    `{"${MARKER}"`,
    'undefined',
    'NaN',
    '\u00ff\u00fe{\u0000}\u0000',
    '{"title":"\u00c3\u0028"}',
    '\u0000',
    '['.repeat(100_000),
    '{"a":'.repeat(20_000),
    `"${'x'.repeat(300_000)}"`,
  );
  const [json = ''] = types;
  return fc.oneof(
    text.map<Content>((broken) => ({
      headers: [['Content-Type', `${json}; charset=utf-8`]],
      body: { text: broken, encoding: 'latin1' },
      flaw: 'is no JSON that this takes',
    })),
    fc.tuple(wrongType, text).map<Content>(([type, broken]) => ({
      headers: [['Content-Type', type]],
      body: { text: broken, encoding: 'latin1' },
      flaw: 'is of another type',
    })),
  );
}
