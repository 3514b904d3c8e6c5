import type { CommandContext } from './context.ts';
import { Failure } from './failure.ts';
import { oneLine } from './table-output.ts';

/**
 * Asks before something is done that cannot be undone. Nothing is asked with --yes, and where standard input is not a terminal.
 * @throws {Failure} unless the answer is yes.
 */
export async function confirm(
  { ask }: CommandContext,
  { yes = false }: { yes?: boolean },
  question: string,
): Promise<void> {
  if (yes || ask === undefined) return;
  if (!(await ask(oneLine(question)))) throw new Failure('Nothing was done.');
}
