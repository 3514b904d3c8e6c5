import type { Context } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import { NEW_MOVEMENT_EVENTS, WITHDRAWN_TRANSACTION } from '../../database/webhook-enums.ts';
import {
  type FeedEvent,
  type FeedPage,
  type Feeds,
  LONGEST_WAIT,
  MOST_EVENTS,
  STREAM_SECONDS,
} from '../../delivery/feed.ts';
import { chooseType } from '../../http/accept.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId, readQuery } from '../../http/input.ts';
import { maxCharacters, withExample } from '../../platform/validation.ts';
import { WholeNumber } from '../../platform/whole-numbers.ts';
import { findWebhook } from '../../webhooks/find-webhook.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of the feed, by which a customer reads notifications instead of receiving them. */

const Query = v.strictObject({
  cursor: v.pipe(
    v.optional(v.pipe(v.string(), ...maxCharacters(200))),
    v.description('The cursor of the answer before.'),
  ),
  limit: v.pipe(
    v.optional(WholeNumber(1, MOST_EVENTS), '100'),
    v.description('The most events of the answer. A stream has no limit.'),
  ),
  wait: v.pipe(
    v.optional(WholeNumber(0, LONGEST_WAIT), '0'),
    v.description('How long to wait for an event if there is none, in seconds.'),
  ),
});

const EventView = v.object({
  id: v.pipe(
    v.string(),
    v.description(
      'Stays the same however often the event is read. A POST would have it as webhook-id. That of a test begins with msg_test_.',
    ),
  ),
  timestamp: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.description('When the movement was stored, in seconds since 1970.'),
  ),
  event: v.pipe(
    withExample(v.optional(v.picklist([...NEW_MOVEMENT_EVENTS, WITHDRAWN_TRANSACTION])), 'NEW_TRANSACTION'),
    v.description(
      'Only if the webhook lists WITHDRAWN_TRANSACTION: whether the movement is new or was withdrawn. The id of a withdrawal is that of its movement, followed by -withdrawn.',
    ),
  ),
  body: v.pipe(
    v.looseObject({}),
    v.description('The notification, as a POST would have it in JSON, with its hash.'),
  ),
});

const FeedView = v.object({
  events: v.array(EventView),
  cursor: v.pipe(
    v.string(),
    v.description('Acknowledges these events, and continues after them, with the next request.'),
  ),
  more: v.pipe(v.boolean(), v.description('Whether more events are there already.')),
});

const PAGE = 'application/json';
const STREAM = 'text/event-stream';

/** Adds the route of feeds. */
export function addFeedRoutes(route: AddRoute, { database }: Runtime, feeds: Feeds): void {
  route('GET /v1/webhooks/:id/feed', {
    tag: 'Webhooks',
    scope: 'read',
    operationId: 'readFeed',
    summary: 'Read the feed of a webhook',
    description: `Answers the next events of a webhook with the delivery pull, the oldest first. cursor is that of the answer before, and acknowledges all events before it, durably, before the answer. Without cursor, the answer begins after the last acknowledged event. An earlier cursor only reads again. If the header Accept prefers text/event-stream, the answer is a stream of server-sent events: data is an event, and id its cursor, which the header Last-Event-ID gives back. A stream ends after ${STREAM_SECONDS} seconds or ${MOST_EVENTS} events; connect again then.`,
    path: { id: idParameter('webhook') },
    changes: true,
    query: Query,
    headers: {
      'Last-Event-ID': {
        description: 'The cursor of the last event of the stream before. Only for a stream.',
      },
    },
    answer: {
      schema: FeedView,
      description: 'The next events; none if nothing has come.',
      stream: STREAM,
    },
    problems: ['not-a-feed', 'cursor-gone', 'pending-for-other-accounts', 'too-many-readers'],
    handle: async (c) => {
      const caller = c.get('caller');
      const { cursor, limit, wait } = readQuery(c, Query);
      const webhook = await findWebhook(database, caller, readId(c, 'webhook'));
      const { signal } = c.req.raw;
      const requireKey = c.get('requireKey');
      const type = chooseType(c.req.header('accept'), [PAGE, STREAM]);
      c.header('Content-Type', type);
      // A proxy that compresses a stream holds its events back.
      if (type === STREAM) c.header('Cache-Control', 'no-store, no-transform');
      // HEAD changes nothing (RFC 9110, section 9.3.2): it acknowledges nothing, takes no sample and counts as no reader.
      if (c.req.raw.method === 'HEAD') {
        feeds.requireFeed(webhook);
        return c.body(null);
      }
      if (type === PAGE) {
        const onWait = c.get('leaveFlight');
        const page = await feeds.read(webhook, caller, { cursor, limit, wait, signal, onWait, requireKey });
        return c.body(renderPage(page));
      }
      // A client that connects again by itself keeps the URL, with its old cursor.
      const resumed = c.req.header('last-event-id') || cursor;
      const pages = await feeds.follow(webhook, caller, { cursor: resumed, signal, requireKey });
      c.get('leaveFlight')?.();
      return answerStream(c, pages);
    },
  });
}

/** Renders an answer. */
export const renderPage = ({
  events,
  cursor,
  more,
}: { events: readonly Pick<FeedEvent, 'json'>[] } & Pick<FeedPage, 'cursor' | 'more'>): string =>
  `{"events":[${events.map(({ json }) => json).join(',')}],"cursor":"${cursor}","more":${more}}`;

/** Milliseconds after which a client connects again by itself. */
const RETRY = 1_000;

/**
 * Answers with server-sent events (WHATWG HTML, section 9.2). The next page is read when the client has taken the one before.
 * X-Accel-Buffering keeps nginx from holding events back.
 */
function answerStream(c: Context<ApiEnv>, pages: AsyncGenerator<FeedPage | null>): Response {
  const encoder = new TextEncoder();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    void pages.return(undefined);
  };
  const end = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (!isOver) controller.close();
    stop();
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: ${RETRY}\n\n`));
      // A client that takes its events slowly, or not at all, is not asked to take more.
      timer = setTimeout(() => end(controller), STREAM_SECONDS * 1_000).unref();
    },
    async pull(controller) {
      // After a failure the stream only ends. The next request of the client is told what is wrong.
      const next = await pages.next().catch(() => ({ done: true as const, value: undefined }));
      if (next.done === true || isOver) return end(controller);
      controller.enqueue(encoder.encode(next.value === null ? ': waiting\n\n' : toEventStream(next.value)));
    },
    cancel: stop,
  });
  c.header('X-Accel-Buffering', 'no');
  return c.body(stream);
}

const toEventStream = ({ events }: FeedPage): string =>
  events.map(({ json, cursor }) => `id: ${cursor()}\ndata: ${json}\n\n`).join('');
