import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import * as v from 'valibot';
import { type Api, RefusedError, UnreachableError } from '../api-client.ts';
import { type AccessOptions, addCallerOptions, withAccess } from '../command-access.ts';
import { type CommandContext, Failure } from '../context.ts';
import { parseId } from '../values.ts';

/** The command `feed`, which shows or follows the feed of a webhook. */

/** A page of a feed. Fields of a newer service are printed too. */
const Page = v.object({ events: v.array(v.looseObject({})), cursor: v.string(), more: v.boolean() });

/** How long a request waits for an event, in seconds. The API allows no more. */
const WAIT = 55;

/** How many events are read, and acknowledged, together. */
const PAGE_SIZE = 100;

/** The most events of one answer of the API. */
const MOST_EVENTS = 1_000;

const GONE = 410;

/** Statuses below 500 that pass: the request took too long, or there are too many. */
const PASSING = [408, 429];

/** How long the first wait for a service that does not answer takes, and the longest. Each takes twice as long as the one before. Milliseconds. */
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;

interface Options extends Omit<AccessOptions, 'json'> {
  once?: boolean;
  acknowledge: boolean;
}

/** `ledgerbell feed` */
export const defineFeed = (command: Command, context: CommandContext) =>
  addCallerOptions(command)
    .argument('<webhook>', 'the id of a webhook with the delivery pull', parseId)
    .option('--once', 'end when the feed is empty')
    .option('--no-acknowledge', 'only show the next 1,000 events; they stay in the feed')
    .action((id: string, { once = false, acknowledge, ...access }: Options) =>
      withAccess(context, access, { subject: { kind: 'webhook', id } }, (api) => {
        const path = `/v1/webhooks/${id}/feed`;
        return acknowledge ? follow(context, api, path, { once }) : peek(context, api, path);
      }),
    );

/** Prints what is in the feed, and acknowledges nothing, because no request has a cursor. */
async function peek({ terminal, signal }: CommandContext, api: Api, path: string): Promise<void> {
  const { events, more } = await api.get(`${path}?limit=${MOST_EVENTS}`, Page, signal);
  for (const event of events) if (!(await terminal.line(JSON.stringify(event)))) return;
  if (more) terminal.note('There are more events in the feed.');
}

/**
 * Prints events as they come. Each page is acknowledged by the next request, once all its lines are written. If the service stops
 * answering, it is asked again with the same cursor until it answers, unless `once`.
 */
async function follow(
  { terminal, signal }: CommandContext,
  api: Api,
  path: string,
  { once }: { once: boolean },
): Promise<void> {
  let cursor: string | undefined;
  const pathOf = (query: string) => `${path}?${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`;
  let hasAnswered = false;
  let failures = 0;
  while (!signal.aborted) {
    const query = `limit=${PAGE_SIZE}${once ? '' : `&wait=${WAIT}`}`;
    const page = await api.get(pathOf(query), Page, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      if (cursor !== undefined && isGone(error)) return 'gone' as const;
      if (hasAnswered && !once && isPassing(error)) return error;
      throw error;
    });
    if (page === null) break;
    if (page instanceof Failure) {
      if (failures === 0) terminal.note(`${page.message} The feed goes on once the service answers.`);
      await sleep(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures), null, { signal }).catch(() => {});
      failures += 1;
      continue;
    }
    hasAnswered = true;
    failures = 0;
    if (page === 'gone') {
      terminal.note('The feed was moved back by a replay. It continues from there.');
      cursor = undefined;
      continue;
    }
    for (const event of page.events) if (!(await terminal.line(JSON.stringify(event)))) return;
    cursor = page.cursor;
    if (once && page.events.length === 0 && !page.more) return;
  }
  // The interrupted request may not have reached the service.
  if (cursor === undefined) return;
  await api.get(pathOf('limit=1'), Page).catch((error: unknown) => {
    if (isGone(error)) return;
    if (!isPassing(error)) throw error;
    throw new Failure(
      `${error.message} The last events that were printed may not be acknowledged. The feed then begins with them again.`,
    );
  });
}

/** Whether the same request may succeed later: the service is started again, or has an outage. */
const isPassing = (error: unknown): error is Failure =>
  error instanceof UnreachableError ||
  (error instanceof RefusedError && (error.status >= 500 || PASSING.includes(error.status)));

const isGone = (error: unknown): boolean => error instanceof RefusedError && error.status === GONE;
