import type { AccountReference, Balance, Entry, StatementEvent } from '../statement.ts';
import type { Fault } from './movement-cells.ts';

/** Puts events in order: each statement begins before what belongs to it, and a new account begins a new statement. */
export function createStatementWriter() {
  let events: StatementEvent[] = [];
  /** Issues and warnings of rows before the first statement. */
  const early: StatementEvent[] = [];
  let account: AccountReference | null = null;
  /** The last entry, which continuation rows may still lengthen. */
  let held: Entry | null = null;

  const releaseEntry = () => {
    if (held !== null) events.push({ type: 'entry', entry: held });
    held = null;
  };
  const add = (event: StatementEvent) => {
    if (account === null) early.push(event);
    else {
      releaseEntry();
      events.push(event);
    }
  };

  return {
    /** Begins a statement unless it is that of the same account. A row that names no account belongs to the one before. */
    begin(line: number, next: AccountReference, opening: Balance | null) {
      const isSame =
        account !== null &&
        ((next.iban === null && next.number === null) ||
          (next.iban === account.iban && next.number === account.number));
      if (isSame) return;
      releaseEntry();
      if (account !== null) events.push({ type: 'end', line: line - 1, closing: null });
      account = next;
      events.push({ type: 'statement', line, account: next, kind: 'final', opening }, ...early.splice(0));
    },
    entry(entry: Entry, warning: string | null) {
      releaseEntry();
      if (warning !== null) events.push({ type: 'warning', line: entry.line, message: warning });
      held = entry;
    },
    continueEntry(text: string) {
      if (held === null || text === '') return;
      held = { ...held, description: held.description === null ? text : `${held.description} ${text}` };
    },
    issue(line: number, { path, message }: Fault) {
      add({ type: 'issue', line, path, message });
    },
    warn(line: number, message: string) {
      add({ type: 'warning', line, message });
    },
    /** Ends the last statement. A table without rows is a statement too, of the account above it. */
    end(line: number, closing: Balance | null, empty: AccountReference, opening: Balance | null) {
      if (account === null) this.begin(line, empty, opening);
      releaseEntry();
      events.push({ type: 'end', line, closing });
    },
    /** What is certain. */
    flush(): StatementEvent[] {
      const flushed = events;
      events = [];
      return flushed;
    },
    flushAll(): StatementEvent[] {
      return [...this.flush(), ...early.splice(0)];
    },
  };
}
