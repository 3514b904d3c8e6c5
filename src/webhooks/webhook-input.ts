import * as v from 'valibot';
import { Metadata } from '../customers/customer-view.ts';
import {
  BODIES,
  DELIVERY_WAYS,
  ENCODINGS,
  HASH_ENCODINGS,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '../database/webhook-enums.ts';
import { HttpUrl } from '../platform/customer-urls.ts';
import {
  documented,
  maxCharacters,
  shortList,
  shortRecord,
  Title,
  wellFormed,
  withExample,
} from '../platform/validation.ts';
import { Id, JsonInteger } from '../platform/whole-numbers.ts';
import {
  areCombinable,
  EVENTS_RULE,
  type EventColumns,
  MOST_EVENTS,
  toEventColumns,
} from '../webhook-record/events.ts';

/** What a caller may send to create or to change a webhook. */

/** The highest rate limit and the most POSTs at a time that a webhook may have. */
export const MOST_PER_SECOND = 10_000;
export const MOST_IN_FLIGHT = 64;

/** The most events of a batch, and the longest time in milliseconds for which it waits for more. */
export const MOST_IN_BATCH = 1_000;
export const LONGEST_BATCH_WAIT = 60_000;

const MAX_HEADERS = 10;

/**
 * Headers that Ledgerbell sets, or that belong to one connection and not to the message (RFC 9110, section 7.6.1). `host` and
 * `content-*` would contradict the request.
 */
const REFUSED_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
  'user-agent',
  'traceparent',
  'tracestate',
];
const REFUSED_PREFIXES = ['webhook-', 'ledgerbell-', 'content-'];

/** v.record drops these names, because JavaScript objects have properties with these names. */
const DROPPED_NAMES = ['__proto__', 'constructor', 'prototype'];

/** A case-insensitive regular expression for a text. It uses no flag, because JSON Schema has no flags. */
const inAnyCase = (text: string) =>
  text.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const REFUSED_NAME = new RegExp(
  `^(?:${[...REFUSED_HEADERS.map(inAnyCase), ...DROPPED_NAMES].join('|')})$|^(?:${REFUSED_PREFIXES.map(inAnyCase).join('|')})`,
);

/** A field-name is a token. A field-value is visible ASCII with inner spaces (RFC 9110, sections 5.1 and 5.5). */
const HeaderName = v.pipe(
  v.string(),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must have names of letters, digits and hyphens'),
  v.check(
    (name) => !REFUSED_NAME.test(name),
    'must not set webhook-*, ledgerbell-*, content-*, host, user-agent, traceparent, tracestate or a header of the connection',
  ),
  documented({ not: { pattern: REFUSED_NAME.source } }),
);
const HeaderValue = v.pipe(
  v.string('must have values that are strings'),
  v.regex(
    /^(?:[\x21-\x7e](?:[\t\x20-\x7e]{0,998}[\x21-\x7e])?)?$/,
    'must have values of at most 1,000 visible ASCII characters',
  ),
);

/** v.record also accepts an array. */
const NothingDropped = v.pipe(
  v.custom<object>(
    (value) => !Array.isArray(value) && !DROPPED_NAMES.some((name) => Object.hasOwn(Object(value), name)),
    `must be an object of header names and values, without the names ${DROPPED_NAMES.join(', ')}`,
  ),
  documented({ type: 'object' }),
);

const Headers = v.pipe(
  v.intersect([
    shortRecord(
      HeaderName,
      HeaderValue,
      MAX_HEADERS,
      `must have at most ${MAX_HEADERS} headers`,
      'must be an object of header names and values',
    ),
    NothingDropped,
  ]),
  // Header names are case-insensitive (RFC 9110, section 5.1).
  v.check((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    return new Set(names).size === names.length;
  }, 'must name each header once'),
  documented({ maxProperties: MAX_HEADERS, examples: [{ 'X-Team': 'bookkeeping' }] }),
);

/** An empty text becomes null, so that a missing description is stored in only one way. */
const Description = v.nullable(
  v.pipe(
    v.string('must be a string or null'),
    ...maxCharacters(500),
    wellFormed,
    documented({ examples: ['For the bookkeeper'] }),
    v.transform((text) => text.trim() || null),
  ),
);

const Event = v.picklist(WEBHOOK_EVENTS, `must be one of ${WEBHOOK_EVENTS.join(', ')}`);

/** Two ways to say the events of a webhook. */
interface GivenEvents {
  event?: WebhookEvent | undefined;
  events?: readonly WebhookEvent[] | undefined;
}

/** Fields that are stored unchanged have the names of their columns in `webhooks`. */
const fields = {
  title: Title,
  description: Description,
  delivery: v.pipe(
    withExample(v.picklist(DELIVERY_WAYS, 'must be "push" or "pull"'), 'push'),
    v.description(
      'push: POSTs to the endpoint. pull: GET /v1/webhooks/{id}/feed has the events. Cannot be changed.',
    ),
  ),
  endpoint: v.pipe(
    HttpUrl,
    documented({ examples: ['https://example.com/ledgerbell'] }),
    v.description('Required, unless the delivery is pull.'),
  ),
  event: v.pipe(
    withExample(Event, 'NEW_TRANSACTION'),
    v.description('Its only event. Leave it out if you send events.'),
  ),
  events: v.pipe(
    shortList(Event, MOST_EVENTS, EVENTS_RULE, EVENTS_RULE),
    v.check((events) => areCombinable(events), EVENTS_RULE),
    documented({
      minItems: 1,
      uniqueItems: true,
      examples: [['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION']],
    }),
    v.description(
      'In place of event: a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT and NEW_CREDIT.',
    ),
  ),
  account: withExample(
    v.union([v.literal('all'), Id], 'must be "all", or the id of one of your accounts'),
    1,
  ),
  encoding: withExample(v.picklist(ENCODINGS, 'must be "json" or "form"'), 'json'),
  body: withExample(v.picklist(BODIES, 'must be "standard" or "extended"'), 'extended'),
  hash_encoding: withExample(v.picklist(HASH_ENCODINGS, 'must be "hex" or "raw"'), 'hex'),
  ordered: withExample(v.boolean('must be true or false'), false),
  rate_limit: withExample(v.nullable(JsonInteger(1, MOST_PER_SECOND)), 50),
  max_in_flight: withExample(JsonInteger(1, MOST_IN_FLIGHT), 8),
  batch: v.pipe(
    v.nullable(
      v.strictObject(
        {
          max: JsonInteger(2, MOST_IN_BATCH),
          wait_ms: v.optional(JsonInteger(0, LONGEST_BATCH_WAIT), 0),
        },
        'must be null, or an object with max and wait_ms',
      ),
    ),
    documented({ examples: [{ max: 100, wait_ms: 500 }] }),
    v.description(
      'Events are sent together: up to max of them in one POST. A batch that is not full waits for up to wait_ms milliseconds. null: each event is a POST of its own.',
    ),
  ),
  headers: Headers,
};

const NOT_BOTH = 'must be left out if event is given: name a single event there, or list all of them here';

/** Whether a body says its events at most once. */
const isOneWay = ({ event, events }: GivenEvents): boolean => event === undefined || events === undefined;

/** The fields of a new webhook, and their defaults. */
const newFields = {
  ...fields,
  event: v.optional(fields.event),
  events: v.optional(fields.events),
  description: v.optional(fields.description, null),
  delivery: v.optional(fields.delivery, 'push'),
  endpoint: v.optional(fields.endpoint),
  encoding: v.optional(fields.encoding),
  body: v.optional(fields.body, 'standard'),
  hash_encoding: v.optional(fields.hash_encoding, 'hex'),
  ordered: v.optional(fields.ordered, false),
  rate_limit: v.optional(fields.rate_limit, null),
  max_in_flight: v.optional(fields.max_in_flight, 16),
  batch: v.optional(fields.batch, null),
  headers: v.optional(fields.headers, {}),
};

/** The fields of a change, without defaults. */
const changedFields = {
  ...v.partial(v.object(fields)).entries,
  status: v.optional(withExample(v.picklist(['active', 'paused'], 'must be "active" or "paused"'), 'paused')),
};

/** The body of POST /v1/webhooks. The endpoint's address is checked separately, because this may need DNS, and so is what fits together. */
export const NewWebhook = v.pipe(
  v.strictObject(newFields),
  v.forward(
    v.check((webhook) => isOneWay(webhook), NOT_BOTH),
    ['events'],
  ),
);
export type NewWebhook = v.InferOutput<typeof NewWebhook>;

/** The body of PATCH /v1/webhooks/:id: any of these fields, without defaults. */
export const WebhookChange = v.pipe(
  v.strictObject(changedFields),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  v.forward(
    v.check((change) => isOneWay(change), NOT_BOTH),
    ['events'],
  ),
  documented({ minProperties: 1 }),
);

/** Which customers a template matches. */
const TemplateCustomers = v.pipe(
  v.union(
    [v.literal('all'), withExample(v.strictObject({ metadata: Metadata }), { metadata: { plan: 'shop' } })],
    'must be "all", or an object with metadata',
  ),
  v.description(
    '"all", or {"metadata": {…}}: the customers whose metadata has all of these members, with these values.',
  ),
);
export type TemplateCustomers = v.InferOutput<typeof TemplateCustomers>;

const { account: _account, ...newTemplateFields } = newFields;
const { account: _changedAccount, ...changedTemplateFields } = changedFields;

/** The body of POST /v1/webhook-templates: a webhook without account, and its customers. */
export const NewTemplate = v.pipe(
  v.strictObject({ ...newTemplateFields, customers: TemplateCustomers }),
  v.forward(
    v.check((template) => isOneWay(template), NOT_BOTH),
    ['events'],
  ),
);
export type NewTemplate = v.InferOutput<typeof NewTemplate>;

/** The body of PATCH /v1/webhook-templates/:id. */
export const TemplateChange = v.pipe(
  v.strictObject({ ...changedTemplateFields, customers: v.optional(TemplateCustomers) }),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  v.forward(
    v.check((change) => isOneWay(change), NOT_BOTH),
    ['events'],
  ),
  documented({ minProperties: 1 }),
);
export type TemplateChange = v.InferOutput<typeof TemplateChange>;

/** The events of a body, as the columns of `webhooks` store them. undefined: it names none. */
export function givenEvents({ event, events }: GivenEvents): EventColumns | undefined {
  if (events !== undefined) return toEventColumns(events);
  return event === undefined ? undefined : toEventColumns([event]);
}

export type WebhookChange = v.InferOutput<typeof WebhookChange>;
