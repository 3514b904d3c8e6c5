import type { RunEvent } from '../../../src/deliveries/run/types.ts';
import type { WebhookState } from '../../../src/deliveries/webhook-state.ts';
import { readLog, readRetries } from './reads.ts';
import type { Owner } from './timeline.ts';
import { ask, type World } from './world.ts';
import { expandReplay as expand } from './writes.ts';

interface Reply {
  done: (event: RunEvent) => void;
  fail: () => void;
}

/** Retries that the product reads at a time, in addition to those in hand. */
const RETRIES_PER_READ = 100;

/** Reads the log, from MySQL or from what the process has cached of an earlier read. */
export function readLogOf(
  world: World,
  owner: Owner,
  { state, after, highestRecordedId }: { state: WebhookState; after: number; highestRecordedId: number },
  reply: Reply,
): void {
  const { tables, tuning, keptReads, random } = world;
  const read = (): RunEvent => {
    const kept =
      keptReads.length > 0 && random() < 0.2 ? keptReads[Math.floor(random() * keptReads.length)] : null;
    const query = { filters: state.filters, after, highestRecordedId, page: tuning.page };
    const answer = readLog(tables, query, kept ?? null);
    keptReads.push({ ...tables.lock });
    if (keptReads.length > 4) keptReads.shift();
    return { type: 'log read', ...answer };
  };
  ask(world, owner, read, reply);
}

export function readRetriesOf(
  world: World,
  owner: Owner,
  { ordered, limit }: { ordered: boolean; limit: number },
  reply: Reply,
): void {
  const { tables, tuning, timeline } = world;
  const scaled = ordered ? limit : limit - RETRIES_PER_READ + Math.min(RETRIES_PER_READ, tuning.page);
  const read = (): RunEvent => ({
    type: 'retries read',
    ...readRetries(tables, timeline.now, { ordered, limit: scaled }),
  });
  ask(world, owner, read, reply);
}

export function expandReplay(world: World, owner: Owner, reply: Reply): void {
  const { tables, tuning, timeline, checks } = world;
  const write = (): RunEvent => {
    const { again, replaying } = expand(tables, timeline.now, tuning.page);
    checks.pendingAgain(again);
    return { type: 'replay expanded', added: again.length, replaying };
  };
  ask(world, owner, write, reply);
}
