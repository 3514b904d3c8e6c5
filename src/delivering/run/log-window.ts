/**
 * What a run has read from the movement log, and which of it has a result. Attempts end in any order, but the cursor may pass a
 * movement only when that movement and all before it have a result. A result counts here before it is recorded in MySQL.
 */
export interface LogWindow {
  /** Adds the ids that were read next, in ascending order. @param through nothing that matches is left at or before it. */
  read(ids: readonly number[], through: number): void;
  /** Notes that an id has a result. @returns whether the id was read from the log. */
  addResult(id: number): boolean;
  /** Every matching movement up to this id has a result. */
  sentThrough(): number;
  /** Where reading the log continues: after this id. */
  readThrough(): number;
}

/** @param from reading begins after this id. */
export function createLogWindow(from: number): LogWindow {
  let ids: number[] = [];
  let first = 0;
  let readThrough = from;
  const ended = new Set<number>();
  let newest = from;

  return {
    read(more, through) {
      ids = first === 0 ? ids.concat(more) : ids.slice(first).concat(more);
      first = 0;
      newest = more.at(-1) ?? newest;
      readThrough = through;
    },
    addResult(id) {
      const head = ids[first];
      if (head === undefined || id < head || id > newest) return false;
      ended.add(id);
      return true;
    },
    sentThrough() {
      for (let head = ids[first]; head !== undefined && ended.delete(head); head = ids[first]) first += 1;
      const head = ids[first];
      return head === undefined ? readThrough : head - 1;
    },
    readThrough: () => readThrough,
  };
}
