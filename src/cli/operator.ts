import { userInfo } from 'node:os';
import type { Operator } from '../customers/caller.ts';

/** The person at the command line, for the audit log: the system's user. */
export const currentOperator = (): Operator => ({ source: 'command line', name: userName() });

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have a number but no name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
