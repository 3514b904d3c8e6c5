import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../cli/failure.ts';
import type { Screen } from './screen.ts';

const SECOND = 1_000;
const POLL_INTERVAL = SECOND / 4;
/** How long the demo waits until everything can be seen. On a quiet machine it takes about half a minute. */
const TIME_LIMIT = 120 * SECOND;

/** Something that the demo has set up, and that an operator can see. */
export interface Sight {
  name: string;
  /** The command that shows it, without `ledgerbell`. */
  command: string;
  /** The page of the console that shows it. */
  page: string;
  /** @returns what the API shows of it; null: nothing yet. */
  find(): Promise<string | null>;
}

/**
 * Waits until all of it can be seen, for at most two minutes, and prints a line for each.
 * @returns whether all of it was seen.
 * @throws {Failure} when `signal` is aborted.
 */
export async function watchSights(
  sights: readonly Sight[],
  {
    screen,
    signal,
    timeLimit = TIME_LIMIT,
  }: { screen: Screen; signal: AbortSignal /** In milliseconds. */; timeLimit?: number },
): Promise<boolean> {
  const deadline = performance.now() + timeLimit;
  const width = (of: 'name' | 'command' | 'page') => Math.max(...sights.map((sight) => sight[of].length));
  const line = ({ name, command, page }: Sight, text: string) =>
    `${name.padEnd(width('name'))}  ${command.padEnd(width('command'))}  ${page.padEnd(width('page'))}  ${text}`;
  let missing = [...sights];
  while (missing.length > 0 && performance.now() < deadline) {
    const found = await Promise.all(missing.map((sight) => sight.find()));
    for (const [at, text] of found.entries()) {
      const sight = missing[at];
      if (sight !== undefined && text !== null) screen.done(line(sight, text));
    }
    missing = missing.filter((_, at) => found[at] === null);
    if (missing.length === 0) return true;
    const waiting = `waiting until the API shows: ${missing.map(({ name }) => name).join(', ')}`;
    screen.live(waiting, 'waiting until the API shows everything (about half a minute)');
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {
      throw new Failure('Interrupted.');
    });
  }
  for (const sight of missing) screen.failed(line(sight, 'not seen in time'));
  return missing.length === 0;
}
