import { type BodyFormat, buildBody, buildEventBody } from '../../src/delivery/posting/body.ts';
import { createSigner } from '../../src/delivery/posting/signature.ts';
import type { NotifiedEvent, NotifiedMovement } from '../../src/delivery/run/types.ts';
import { API_SECRET, EMPTY, MOVEMENT, TURKISH } from './vector-movements.ts';

/** Test vectors for receivers of batches. `vectors.ts` writes them. */

/** POSTs to a receiver, one after the other, and what it must do. */
export interface BatchVector {
  name: string;
  /** `whsec_…`: the secrets of the webhook that the receiver knows. */
  secrets: string[];
  /** Absent: the receiver does not verify hashes. */
  apiSecret?: string;
  /** The receiver's clock: seconds since 1970. The tolerance is 300 s. */
  now: number;
  posts: BatchPost[];
}

interface BatchPost {
  headers: Record<string, string>;
  /** Text, to be sent in UTF-8. */
  body: string;
  /** The ids of the events that the receiver cannot process, because something is wrong with them. */
  failing: string[];
  expected:
    | {
        ok: true;
        /** The ids of the events that the receiver works on, in their order. */
        new: string[];
        /** Those that it refuses: in `failed` of its answer to a batch, with 422 to a single POST. If there are none, it accepts all events. */
        failed: string[];
      }
    | { ok: false; reason: string };
}

interface Event {
  id: string;
  /** For a webhook that lists WITHDRAWN_TRANSACTION. */
  event?: string;
  body: string;
}

const WEBHOOK = '17';
const idOf = (number: number) => `msg_${WEBHOOK}-${number}`;

/** An event of a batch: the body is the one of a single POST. */
const at = (
  number: number,
  movement: NotifiedMovement = MOVEMENT,
  hashEncoding: BodyFormat['hashEncoding'] = 'hex',
  apiSecret = API_SECRET,
): Event => ({
  id: idOf(number),
  body: buildBody(
    { ...movement, transaction_id: String(number) },
    { encoding: 'json', hashEncoding },
    apiSecret,
  ),
});

const eventAt = (number: number, event: NotifiedEvent): Event => ({
  id: idOf(number),
  body: buildEventBody(event),
});

const newAt = (number: number): Event => ({ ...at(number), event: 'NEW_TRANSACTION' });

const withdrawalAt = (number: number): Event => ({
  ...at(number),
  id: `${idOf(number)}-withdrawn`,
  event: 'WITHDRAWN_TRANSACTION',
});

export const batchBody = (batch: string, events: readonly Event[]): string =>
  `{"batch":${JSON.stringify(batch)},"events":[${events
    .map(
      ({ id, event, body }) =>
        `{"id":${JSON.stringify(id)},${event === undefined ? '' : `"event":"${event}",`}"body":${body}}`,
    )
    .join()}]}`;

interface Given {
  /** How old the POST is, in seconds. */
  age?: number;
  failing?: number[];
  /** The numbers of the events that are new, and of those that the answer names. Default: all and none. */
  isNew?: number[];
  failed?: number[];
  reason?: string;
  change?: (post: { headers: Record<string, string>; body: string }) => {
    headers?: Record<string, string>;
    body?: string;
  };
}

/**
 * Makes all vectors of `batches.json`.
 * @param now the receiver's clock: seconds since 1970.
 * @param secret `whsec_…`, which the receiver knows.
 * @param former `whsec_…`: the secret before a rotation.
 */
export function createBatchVectors({
  now,
  secret,
  former,
}: {
  now: number;
  secret: string;
  former: string;
}): BatchVector[] {
  let last = 0;

  const signed = (id: string, body: string, age = 0, signers = [secret]) => ({
    'webhook-id': id,
    'webhook-timestamp': String(now - age),
    'webhook-signature': createSigner(signers)(id, now - age, body),
    'content-type': 'application/json',
  });

  function post(id: string, body: string, ids: string[], given: Given = {}, signers = [secret]): BatchPost {
    const { age = 0, failing = [], isNew, failed = [], reason, change } = given;
    const made = { headers: signed(id, body, age, signers), body };
    const changed = { ...made, ...change?.(made) };
    return {
      headers: { ...made.headers, ...changed.headers },
      body: changed.body,
      failing: failing.map(idOf),
      expected:
        reason === undefined
          ? { ok: true, new: isNew?.map(idOf) ?? ids, failed: failed.map(idOf) }
          : { ok: false, reason },
    };
  }
  const batch = (events: readonly Event[], given: Given = {}, signers?: string[]) => {
    const id = `batch_${String(++last).padStart(20, '0')}`;
    return post(
      id,
      batchBody(id, events),
      events.map((event) => event.id),
      given,
      signers,
    );
  };
  const single = ({ id, body }: Event, given: Given = {}) => post(id, body, [id], given);
  const withBody = (body: string, given: Given) => {
    const id = `batch_${String(++last).padStart(20, '0')}`;
    return post(id, body, [], given);
  };

  const vector = (
    name: string,
    posts: BatchPost[],
    { secrets = [secret], apiSecret }: { secrets?: string[]; apiSecret?: string } = {},
  ): BatchVector => ({ name, secrets, ...(apiSecret === undefined ? {} : { apiSecret }), now, posts });
  const verified = { apiSecret: API_SECRET };
  const wrong = { reason: 'wrong-signature' };
  const malformed = { reason: 'malformed-body' };

  return [
    vector('a batch of three', [batch([at(101), at(102, TURKISH), at(103, EMPTY)])], verified),
    vector('hashes of bytes', [batch([at(101, TURKISH, 'raw'), at(102, EMPTY, 'raw')])], verified),
    vector('a batch of one', [batch([at(101)])]),
    vector('a batch of balances and events', [
      batch([
        eventAt(101, {
          type: 'balance.updated',
          timestamp: '2026-09-21T14:00:00.000Z',
          data: '{"account_id":3,"balance":"150.00","currency":"TRY","date":"2026-09-20"}',
        }),
        eventAt(102, {
          type: 'planet.moved',
          timestamp: '2026-09-21T14:00:00.000Z',
          data: '{"to":"left"}',
        }),
      ]),
    ]),
    vector('a retry as another batch', [batch([at(101), at(102)]), batch([at(101), at(102)], { isNew: [] })]),
    vector('a retry that is grouped otherwise', [
      batch([at(101), at(102), at(103)]),
      batch([at(103), at(104)], { isNew: [104] }),
      batch([at(101)], { isNew: [] }),
      batch([at(102), at(105)], { isNew: [105] }),
    ]),
    vector('a single POST of an event that came in a batch, and the other way round', [
      batch([at(101), at(102)]),
      single(at(102), { isNew: [] }),
      single(at(103)),
      batch([at(103), at(104)], { isNew: [104] }),
    ]),
    vector('an event that fails comes again, and those beside it do not', [
      batch([at(101), at(102), at(103)], { failing: [102], failed: [102] }),
      batch([at(102), at(104)]),
      batch([at(101), at(102), at(103), at(104)], { isNew: [] }),
    ]),
    vector('an event that fails again is the only one of its batch', [
      batch([at(101), at(102)], { failing: [102], failed: [102] }),
      batch([at(102)], { failing: [102], failed: [102] }),
      batch([at(102)]),
    ]),
    vector('all events of a batch fail', [
      batch([at(101), at(102)], { failing: [101, 102], failed: [101, 102] }),
      batch([at(101), at(102)], { isNew: [101, 102] }),
    ]),
    vector('a single POST of an event that fails, before and after a batch', [
      single(at(101), { failing: [101], failed: [101] }),
      batch([at(101), at(102)], { failing: [101], failed: [101] }),
      single(at(101), { failing: [101], failed: [101] }),
      single(at(101)),
    ]),
    vector('a movement and its withdrawal in one batch, which comes again', [
      batch([newAt(101), withdrawalAt(101)]),
      batch([newAt(101), withdrawalAt(101), newAt(102)], { isNew: [102] }),
    ]),
    vector('a withdrawal before its movement, and one of a movement that never comes', [
      batch([withdrawalAt(101), withdrawalAt(102)]),
      single(newAt(101)),
      single(withdrawalAt(101), { isNew: [] }),
    ]),
    vector('an id twice', [batch([at(101), at(101), at(102)], { isNew: [101, 102] })]),
    vector(
      'a wrong hash of one event: the others are processed',
      [batch([at(101), at(102, MOVEMENT, 'hex', 'another'), at(103)], { isNew: [101, 103], failed: [102] })],
      verified,
    ),
    vector('an event that is no notification: the others are processed', [
      batch([at(101), { id: idOf(102), body: '{}' }, at(103)], { isNew: [101, 103], failed: [102] }),
    ]),
    vector('a rotation: the receiver knows the former secret', [batch([at(101)], {}, [secret, former])], {
      secrets: [former],
    }),
    vector('a changed amount', [
      batch([at(101), at(102)], { ...wrong, change: ({ body }) => ({ body: body.replace('1250', '9250') }) }),
      batch([at(101), at(102)]),
    ]),
    vector('a changed id of an event', [
      batch([at(101)], { ...wrong, change: ({ body }) => ({ body: body.replace('17-101', '17-109') }) }),
    ]),
    vector('a changed webhook-id', [
      batch([at(101)], { ...wrong, change: () => ({ headers: { 'webhook-id': 'batch_other' } }) }),
    ]),
    vector('301 s old', [batch([at(101)], { age: 301, reason: 'timestamp-too-old' })]),
    vector('events that are no list', [withBody('{"batch":"batch_1","events":{}}', malformed)]),
    vector('events that are no objects', [
      withBody('{"batch":"batch_1","events":["msg_17-101"]}', malformed),
    ]),
    vector('an event without an id', [withBody('{"batch":"batch_1","events":[{"body":{}}]}', malformed)]),
  ];
}
