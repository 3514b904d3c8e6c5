/** A process to which events happen. Events of a frozen process happen when it goes on; events of a dead one never happen. */
export interface Owner {
  alive: boolean;
  frozenUntil: number;
}

interface Entry {
  at: number;
  order: number;
  owner: Owner | null;
  happen: () => void;
}

/** The virtual clock and the events to come. Events of the same moment happen in the order in which they were added. */
export interface Timeline {
  /** Milliseconds since 1970, by MySQL's clock. */
  readonly now: number;
  /** @param owner null: MySQL, Redis, the endpoint, the api. */
  after(delay: number, owner: Owner | null, happen: () => void): void;
  /** Lets the next event happen, if it is not later than `until`. @returns false when there is none. */
  step(until?: number): boolean;
  /** Moves the clock on to this moment. */
  passTo(moment: number): void;
}

export function createTimeline(start: number): Timeline {
  let now = start;
  let added = 0;
  const heap: Entry[] = [];

  function push(entry: Entry): void {
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as Entry;
      if (isBefore(parent, entry)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let child = heap[below];
      if (child === undefined) break;
      const other = heap[below + 1];
      if (other !== undefined && isBefore(other, child)) {
        below += 1;
        child = other;
      }
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
    return first;
  }

  function step(until = Number.POSITIVE_INFINITY): boolean {
    for (;;) {
      if ((heap[0]?.at ?? until) > until) return false;
      const entry = pop();
      if (entry === undefined) return false;
      const { owner } = entry;
      if (owner !== null && !owner.alive) continue;
      now = Math.max(now, entry.at);
      if (owner !== null && owner.frozenUntil > now) {
        push({ ...entry, at: owner.frozenUntil });
        continue;
      }
      entry.happen();
      return true;
    }
  }

  return {
    get now() {
      return now;
    },
    after(delay, owner, happen) {
      added += 1;
      push({ at: now + Math.max(0, delay), order: added, owner, happen });
    },
    step,
    passTo(moment) {
      now = Math.max(now, moment);
    },
  };
}

const isBefore = (one: Entry, other: Entry): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);
