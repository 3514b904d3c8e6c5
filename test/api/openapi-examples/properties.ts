/** Finds the properties of an OpenAPI document that no example shows. */

// biome-ignore lint/suspicious/noExplicitAny: documents and examples of any form.
type Json = any;

interface Properties {
  /** Names such as `Account.iban` or `getDelivery 200.delivery.body`. */
  all: string[];
  withoutExample: string[];
}

/** @returns the properties of the document's schemas and inline bodies, and those that no example has a value of. */
export function propertiesOf(document: Json): Properties {
  const shown = new Map<string, boolean>();
  const names = new Map<object, string>();
  const schemas = Object.entries<Json>(document.components.schemas);
  const bodies = operationsOf(document).flatMap(({ operationId, requestBody, responses }) =>
    [['body', requestBody] as const, ...Object.entries<Json>(responses)].flatMap(([name, body]) =>
      Object.values<Json>(body?.content ?? {}).map((content) => ({
        name: `${operationId} ${name}`,
        content,
      })),
    ),
  );
  const shared = Object.values<Json>(document.components.responses).flatMap(({ content = {} }) =>
    Object.values<Json>(content).map((it) => ({ name: 'error', content: it })),
  );
  const at = (it: Json): Json => ('$ref' in it ? resolve(document, it.$ref) : it);

  /** Whether a property's own schema has an example, or a part of it. */
  const hasExample = (schema: Json): boolean => {
    const it = at(schema);
    const isOwn = 'const' in it || 'example' in it || 'examples' in it;
    return isOwn || [...partsOf(it), ...Object.values<Json>(it.properties ?? {})].some(hasExample);
  };
  const declare = (schema: Json, name: string): void => {
    for (const [member, it] of Object.entries<Json>(schema.properties ?? {})) {
      const path = `${name}.${member}`;
      names.set(it, path);
      shown.set(path, shown.get(path) === true || hasExample(it));
      declare(it, path);
    }
    for (const part of partsOf(schema)) declare(part, name);
  };
  const show = (schema: Json, value: Json): void => {
    const it = at(schema);
    if (Array.isArray(value)) for (const item of value) if (it.items) show(it.items, item);
    for (const [member, property] of Object.entries<Json>(it.properties ?? {})) {
      if (isEmpty(value?.[member])) continue;
      const path = names.get(property);
      if (path !== undefined) shown.set(path, true);
      show(property, value[member]);
    }
    if (typeof it.additionalProperties === 'object' && typeof value === 'object')
      for (const member of Object.values(value ?? {})) show(it.additionalProperties, member);
    for (const part of it.allOf ?? []) show(part, value);
    for (const part of [...(it.anyOf ?? []), ...(it.oneOf ?? [])])
      if (fits(at(part), value)) show(part, value);
  };
  /** The examples of a schema, and of its parts. */
  const showOwn = (schema: Json): void => {
    for (const example of [schema.example, ...(schema.examples ?? [])]) show(schema, example);
    for (const it of [...Object.values<Json>(schema.properties ?? {}), ...partsOf(schema)]) showOwn(it);
  };

  for (const [name, schema] of schemas) declare(schema, name);
  for (const { name, content } of bodies) declare(content.schema ?? {}, name);
  for (const [, schema] of schemas) showOwn(schema);
  for (const { content } of [...bodies, ...shared]) {
    const { schema = {}, example, examples = {} } = content;
    showOwn(schema);
    for (const it of [{ value: example }, ...Object.values<Json>(examples)]) show(schema, at(it).value);
  }
  const all = [...shown.keys()];
  return { all, withoutExample: all.filter((name) => shown.get(name) === false) };
}

const operationsOf = ({ paths, webhooks = {} }: Json): Json[] =>
  [...Object.values<Json>(paths), ...Object.values<Json>(webhooks)].flatMap((it) => Object.values<Json>(it));

const resolve = (document: Json, path: string): Json =>
  path
    .split('/')
    .slice(1)
    .reduce((it, name) => it[name], document);

/** The schemas that a schema consists of, besides its properties. */
function partsOf({ items, allOf = [], anyOf = [], oneOf = [], additionalProperties }: Json): Json[] {
  const more = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [...(items ? [items] : []), ...allOf, ...anyOf, ...oneOf, ...more];
}

/** Whether a value may be meant by one of several schemas. */
function fits({ required = [], properties, additionalProperties }: Json, value: Json): boolean {
  if (properties === undefined) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const isKnown = (name: string) => additionalProperties !== false || name in properties;
  return required.every((name: string) => name in value) && Object.keys(value).every(isKnown);
}

/** null, '', [] and {} show nothing. */
const isEmpty = (value: Json): boolean =>
  value === undefined || value === null || value === '' || ['[]', '{}'].includes(JSON.stringify(value));
