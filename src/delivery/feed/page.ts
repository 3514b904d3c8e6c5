import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { Runtime } from '../../database/runtime.ts';
import { SEALED } from '../../database/secret-box.ts';
import type { WriteResult } from '../../database/transaction.ts';
import { formatDeliveryId } from '../delivery-id.ts';
import { type MovementLog, openMovementLog } from '../engine/movement-log.ts';
import { buildSharedBody } from '../posting/body.ts';
import { eventIdOf, eventNameOf } from '../posting/request.ts';
import { readSampleMovement } from '../posting/sample.ts';
import type { LoggedMovement, NotifiedMovement } from '../run/types.ts';
import type { LogFilter, WebhookState } from '../webhook-state.ts';
import { encodeCursor, type Position } from './cursor.ts';

/** Reads a page of a feed from the movement log, and builds its notifications. */

/** The most bytes of bodies in one page. A page always has one event. */
const MOST_BYTES = 4 * 1024 * 1024;

export interface FeedEvent {
  /** `{ id, timestamp, body }`. */
  json: string;
  /** Acknowledges this event and all before it. A page makes only its own cursor, because each costs some microseconds. */
  cursor(): string;
}

export interface FeedPage {
  events: FeedEvent[];
  /** Where the next page begins. */
  position: Position;
  /** The same position, for the reader. */
  cursor: string;
  /** Whether more events are there already. */
  more: boolean;
}

/** Which events a page has. */
export interface PageRequest {
  /** The state of the webhook. Movements beyond its `matchedThrough` are left to the next page, because their filters are not known. */
  state: WebhookState;
  /** The filters from `after` on. */
  filters: readonly LogFilter[];
  after: Position;
  limit: number;
}

/** Creates a function that reads pages. One per process: feeds with the same filter share their reads. */
export function createPageReader({ database, secrets }: Pick<Runtime, 'database' | 'secrets'>) {
  const log = openMovementLog(database);
  return async function readPage({ state, filters, after, limit }: PageRequest): Promise<FeedPage> {
    const { settings } = state;
    const apiSecret = secrets.open(settings.api_secret, SEALED.apiSecret(settings.customer_id));
    const format = { encoding: 'json', hashEncoding: settings.hash_encoding } as const;
    const cursorAt = (through: number) => encodeCursor(secrets, settings.id, { epoch: after.epoch, through });
    const toEvent = (
      movement: NotifiedMovement,
      { id, storedAt, through }: { id: string; storedAt: number; through: number },
    ): FeedEvent => ({
      json: renderEvent({
        id: eventIdOf(id, movement),
        storedAt,
        event: eventNameOf(settings, movement),
        body: buildSharedBody(movement, format, apiSecret),
      }),
      cursor: () => cursorAt(through),
    });

    const events: FeedEvent[] = [];
    const sample = await takeSample(database, state);
    if (sample !== null) {
      const id = `test_${randomBytes(12).toString('base64url')}`;
      events.push(toEvent(sample, { id, storedAt: Date.now(), through: after.through }));
    }
    // A paused feed is empty.
    const { movements, ...read } =
      state.settings.status === 'active'
        ? await readMatches(log, { state, filters, after, limit: limit - events.length })
        : { movements: [], through: after.through, more: false };
    let { through, more } = read;
    let bytes = 0;
    let last = after.through;
    for (const movement of movements) {
      const subjectId = movement.transaction_id;
      const event = toEvent(movement, {
        id: formatDeliveryId({ webhookId: settings.id, subjectId }),
        storedAt: Number(movement.stored_at) / 1_000,
        through: Number(subjectId),
      });
      bytes += Buffer.byteLength(event.json);
      if (bytes > MOST_BYTES && events.length > 0) {
        through = last;
        more = true;
        break;
      }
      events.push(event);
      last = Number(subjectId);
    }
    return { events, position: { epoch: after.epoch, through }, cursor: cursorAt(through), more };
  };
}

/**
 * Renders an event.
 * @param storedAt milliseconds since 1970.
 * @param event what it is; undefined: the webhook does not list withdrawals.
 */
export const renderEvent = ({
  id,
  storedAt,
  event,
  body,
}: {
  id: string;
  storedAt: number;
  event?: string | undefined;
  body: string;
}): string =>
  `{"id":"${id}","timestamp":${Math.floor(storedAt / 1_000)},${event === undefined ? '' : `"event":"${event}",`}"body":${body}}`;

/** Reads the movements that the webhook matched. Those of accounts that are being deleted are left out. */
async function readMatches(
  log: MovementLog,
  { state, filters, after, limit }: PageRequest,
): Promise<{ movements: LoggedMovement[]; through: number; more: boolean }> {
  const { settings, accountsDeleted, matchedThrough, deletedAccounts } = state;
  const movements: LoggedMovement[] = [];
  let { through } = after;
  while (movements.length < limit && through < matchedThrough) {
    const read = await log.read({
      webhookId: settings.id,
      customerId: settings.customer_id,
      accountsDeleted,
      filters,
      after: through,
      // Feeds have no rows in `deliveries`.
      highestRecordedId: 0,
      limit: limit - movements.length,
      isExtended: settings.body === 'extended',
    });
    movements.push(
      ...read.movements.filter(
        ({ transaction_id, account_id }) =>
          Number(transaction_id) <= matchedThrough && !deletedAccounts.includes(account_id),
      ),
    );
    through = read.complete ? matchedThrough : Math.min(read.through, matchedThrough);
  }
  return { movements, through, more: through < matchedThrough };
}

/** Index: the primary key. */
const TAKE_SAMPLE = `
  UPDATE webhook_cursors SET feed_sample_at = NULL WHERE webhook_id = ? AND feed_sample_at IS NOT NULL`;

/** Takes the sample that a test has requested. Of two readers, one gets it. @returns null: none was requested. */
async function takeSample(
  database: DataSource,
  { settings: { id, event, body }, feed }: WebhookState,
): Promise<NotifiedMovement | null> {
  if (!feed.hasSample) return null;
  const { affectedRows } = await database.query<WriteResult>(TAKE_SAMPLE, [id]);
  return affectedRows === 0
    ? null
    : readSampleMovement(database, { webhookId: id, event, body, now: new Date() });
}
