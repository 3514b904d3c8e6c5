import * as v from 'valibot';
import {
  documented,
  IdView,
  maxCharacters,
  shortRecord,
  Timestamp,
  Title,
  wellFormed,
  withExample,
} from '../platform/validation.ts';

/** What operators say of a customer, and what they are shown. */

const EXTERNAL_ID_RULE =
  'must have 1 to 200 characters, without a space or a control character at either end or a line break';

/** The id of a customer in the program that has created it. */
export const ExternalId = v.pipe(
  v.string('must be a string'),
  ...maxCharacters(200),
  v.regex(/^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u, EXTERNAL_ID_RULE),
  wellFormed,
);

const MOST_METADATA = 50;
const METADATA_BYTES = 4_096;

/** Short texts by name that a program keeps with a customer. */
export const Metadata = v.pipe(
  shortRecord(
    v.pipe(v.string(), v.minLength(1, 'must have a name'), ...maxCharacters(40), wellFormed),
    v.pipe(v.string('must be a string'), ...maxCharacters(500), wellFormed),
    MOST_METADATA,
    `must have at most ${MOST_METADATA} members`,
    'must be an object of texts',
  ),
  v.check(
    (metadata) => Buffer.byteLength(JSON.stringify(metadata)) <= METADATA_BYTES,
    `must be at most ${METADATA_BYTES} bytes as JSON`,
  ),
);

/** The body of PATCH /v1/customers/:id. null removes an external id. Metadata replaces all metadata. */
export const CustomerChange = v.pipe(
  v.strictObject({
    name: v.optional(withExample(Title, 'Kadıköy Kitabevi')),
    external_id: v.optional(v.nullable(withExample(ExternalId, 'kitabevi-17'))),
    metadata: v.optional(Metadata),
  }),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  documented({ minProperties: 1 }),
);
export type CustomerChange = v.InferOutput<typeof CustomerChange>;

export const CustomerView = v.object({
  id: IdView,
  name: v.string(),
  external_id: v.pipe(v.nullable(v.string()), v.description('Its id in the program that has created it.')),
  metadata: v.record(v.string(), v.string()),
  status: v.pipe(
    v.picklist(['active', 'deleting']),
    v.description('deleting: it is being deleted with everything that belongs to it.'),
  ),
  created_at: Timestamp,
});

/** A row of `customers`. */
export interface StoredCustomer {
  id: string;
  name: string;
  external_id: string | null;
  metadata: string | null;
  created_at: Date;
  is_deleting: number | string;
}

export const viewCustomer = (it: StoredCustomer): v.InferOutput<typeof CustomerView> => ({
  id: Number(it.id),
  name: it.name,
  external_id: it.external_id,
  metadata: it.metadata === null ? {} : JSON.parse(it.metadata),
  status: Number(it.is_deleting) === 1 ? 'deleting' : 'active',
  created_at: it.created_at.toISOString(),
});
