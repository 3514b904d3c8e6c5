import * as v from 'valibot';

/** The query parameter `fields` of movements. */
export const FieldsQuery = v.optional(v.literal('extended', 'must be "extended", or left out'));

export const FIELDS_PARAMETER = {
  description: '"extended" adds what the bank says beyond the usual fields, as the object extended.',
  schema: { type: 'string', enum: ['extended'] },
} as const;
