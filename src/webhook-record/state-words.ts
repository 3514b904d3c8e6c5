import type { Circuit } from './circuit.ts';

/** The words for a webhook's state in lists. The console and the command line say the same. Pure. */

const CIRCUIT_WORDS: Record<Circuit, string | null> = {
  closed: null,
  half_open: 'half-open',
  open: 'circuit open',
};

/**
 * A word for each of its troubles, in their order. Without troubles, the word of its circuit: the circuit may still be open after a POST
 * that was in flight has succeeded. None: its status says everything.
 * @param state.kinds of its troubles: failing, behind …
 */
export function stateWords({
  status,
  kinds,
  circuit,
}: {
  status: string;
  kinds: readonly string[];
  circuit: Circuit;
}): string[] {
  if (kinds.length > 0)
    return kinds.map((kind) => {
      if (kind === 'failing' && circuit === 'open') return 'circuit open';
      return kind === 'unread' ? 'not read' : kind;
    });
  const word = status === 'active' ? CIRCUIT_WORDS[circuit] : null;
  return word === null ? [] : [word];
}
