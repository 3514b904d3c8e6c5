import { userInfo } from 'node:os';
import type { Operator } from '../customers/caller.ts';
import type { OwnedKind } from '../customers/owner.ts';

/** The person at the command line, and the object of a command. */

/** The person at the command line, for the audit log: the system's user. */
export const currentOperator = (): Operator => ({ source: 'command line', name: userName(), role: 'admin' });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have a number but no name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The object that a command names. For a delivery, `id` is the id of its webhook. */
export interface Subject {
  kind: OwnedKind;
  id: string;
}

/** A kind in words. */
export const wordsOf = (kind: OwnedKind): string => (kind === 'api_key' ? 'API key' : kind);

/** The messages for objects that do not exist. */
export const MISSING: Readonly<Record<Subject['kind'], string>> = {
  webhook: 'There is no webhook of that id, or it was deleted.',
  delivery: 'There is no delivery of that id.',
  source: 'There is no source of that id, or it was deleted.',
  import: 'There is no import of that id.',
  api_key: 'There is no API key of that id.',
  movement: 'There is no movement of that id.',
  conflict: 'There is no conflict of that id.',
  replay: 'There is no replay of that id.',
  account: 'There is no account of that id.',
  statement: 'There is no statement of that id.',
  withdrawal: 'There is no withdrawal of that id.',
};
