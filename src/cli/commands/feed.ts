import type { Command } from 'commander';
import * as v from 'valibot';
import { type Api, RefusedError } from '../api-client.ts';
import { type AccessOptions, addCallerOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';

/** A page of a feed. Fields of a newer service are printed too. */
const Page = v.object({ events: v.array(v.looseObject({})), cursor: v.string(), more: v.boolean() });

/** How long a request waits for an event, in seconds. The API allows no more. */
const WAIT = 55;

/** How many events are read, and acknowledged, together. */
const PAGE_SIZE = 100;

/** The most events of one answer of the API. */
const MOST_EVENTS = 1_000;

const GONE = 410;

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

/** Prints events as they come. Each page is acknowledged by the next request, once all its lines are written. */
async function follow(
  { terminal, signal }: CommandContext,
  api: Api,
  path: string,
  { once }: { once: boolean },
): Promise<void> {
  let cursor: string | undefined;
  const pathOf = (query: string) => `${path}?${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`;
  while (!signal.aborted) {
    const query = `limit=${PAGE_SIZE}${once ? '' : `&wait=${WAIT}`}`;
    const page = await api.get(pathOf(query), Page, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      if (cursor === undefined || !isGone(error)) throw error;
      return 'gone' as const;
    });
    if (page === null) break;
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
    if (!isGone(error)) throw error;
  });
}

const isGone = (error: unknown): boolean => error instanceof RefusedError && error.status === GONE;
