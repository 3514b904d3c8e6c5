import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The part of JSON Schema (draft 2020-12) from which tests make values. */
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
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/** A validator that refuses keywords and formats that it does not know, instead of ignoring them. */
export function createValidator(): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  formats.default(ajv);
  return ajv;
}

const shared = createValidator();

/** Lists where a value does not fit a schema, and why; empty when it fits. */
export const disagreements = (schema: object, value: unknown): string[] =>
  issuesOf(shared.compile(schema), value);

/** The same for a compiled schema. */
export function issuesOf(validate: ValidateFunction, value: unknown): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `$${instancePath} ${message}`);
}
