import { userInfo } from 'node:os';

/** The name of the person at the command line, for the audit log: that of the system's user. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have a number and no name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
