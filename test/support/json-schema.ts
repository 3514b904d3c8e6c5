/** The part of JSON Schema (draft 2020-12) that /openapi.json is written in. */
export interface JsonSchema {
  type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  description?: string;
  default?: unknown;
}

const KEYWORDS = new Set<string>([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'items',
  'minItems',
  'maxItems',
  'enum',
  'const',
  'anyOf',
  'allOf',
  'pattern',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'description',
  'default',
] satisfies (keyof JsonSchema)[]);

const FORMATS: Record<string, (text: string) => boolean> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': (text) => /^\d{4}-\d\d-\d\dT.*Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  uri: (text) => URL.canParse(text),
  'uri-reference': (text) => URL.canParse(text, 'http://localhost'),
};

/**
 * Lists where a value does not fit a schema, and why; empty when it fits.
 * @throws for a keyword that is unknown here, which would otherwise be ignored silently.
 */
export function disagreements(schema: JsonSchema, value: unknown, path = '$'): string[] {
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined) throw new Error(`this check of JSON Schema does not know ${unknown}`);
  const problems: string[] = [];
  if (schema.type !== undefined && !isOfType(schema.type, value))
    problems.push(`${path} is no ${schema.type}`);
  if ('const' in schema && value !== schema.const) problems.push(`${path} is not the constant`);
  if (schema.enum !== undefined && !schema.enum.includes(value)) problems.push(`${path} is not in the list`);
  if (schema.anyOf?.every((option) => disagreements(option, value, path).length > 0)) {
    problems.push(`${path} fits none of the alternatives`);
  }
  problems.push(...(schema.allOf ?? []).flatMap((part) => disagreements(part, value, path)));
  if (typeof value === 'string') problems.push(...faultsOfText(schema, value, path));
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? value)) problems.push(`${path} is below the minimum`);
    if (value > (schema.maximum ?? value)) problems.push(`${path} is above the maximum`);
  }
  if (Array.isArray(value)) {
    if (value.length < (schema.minItems ?? 0)) problems.push(`${path} has too few items`);
    if (value.length > (schema.maxItems ?? value.length)) problems.push(`${path} has too many items`);
    const { items } = schema;
    if (items !== undefined) {
      problems.push(...value.flatMap((item, index) => disagreements(items, item, `${path}.${index}`)));
    }
  } else if (typeof value === 'object' && value !== null) {
    problems.push(...faultsOfMembers(schema, value as Record<string, unknown>, path));
  }
  return problems;
}

function isOfType(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Lengths count characters, not UTF-16 units (RFC 8259, to which JSON Schema refers). */
function faultsOfText(schema: JsonSchema, text: string, path: string): string[] {
  const { minLength, maxLength, pattern, format } = schema;
  const length = [...text].length;
  const isOfFormat = format === undefined ? () => true : FORMATS[format];
  if (isOfFormat === undefined)
    throw new Error(`this check of JSON Schema does not know the format ${format}`);
  return [
    ...(length < (minLength ?? 0) ? [`${path} is too short`] : []),
    ...(length > (maxLength ?? length) ? [`${path} is too long`] : []),
    ...(pattern !== undefined && !new RegExp(pattern, 'u').test(text)
      ? [`${path} does not match the pattern`]
      : []),
    ...(isOfFormat(text) ? [] : [`${path} is no ${format}`]),
  ];
}

function faultsOfMembers(schema: JsonSchema, value: Record<string, unknown>, path: string): string[] {
  const { properties = {}, required = [], additionalProperties = true, propertyNames } = schema;
  const problems = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${path} lacks ${name}`);
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (propertyNames !== undefined)
      problems.push(...disagreements(propertyNames, name, `the name of ${at}`));
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) problems.push(...disagreements(own, member, at));
    else if (additionalProperties === false) problems.push(`${at} is not in the schema`);
    else if (additionalProperties !== true) problems.push(...disagreements(additionalProperties, member, at));
  }
  return problems;
}
