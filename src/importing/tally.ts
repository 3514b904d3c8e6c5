const FIRST_SLOTS = 1_024;

/** A slot has three 32-bit words: the first 64 bits of the digest, and its count. A count of 0 is an empty slot. */
const SLOT_WORDS = 3;

/** In a table that is fuller than this, finding a slot takes many steps. */
const MAX_LOAD = 3 / 4;

/**
 * Creates a function that counts contents by their SHA-256. It returns how often the content has come so far, including this time.
 *
 * The counts are in a hash table in one typed array (open addressing, linear probing). A million contents take 25 MB. A Map of
 * their digests in hex took 150 MB, and as much again until it was garbage-collected. An import may be a gigabyte, which is at
 * most 16 million of the shortest movements: 400 MB.
 *
 * Two contents whose digests begin with the same 64 bits are counted as one (in a million movements, a chance of 1 in 37 million).
 * Both are stored nevertheless, because their ids contain the whole digest, and the same file still gives the same ids.
 *
 * @param firstSlots a power of two.
 */
export const createTally = (firstSlots = FIRST_SLOTS): ((digest: Buffer) => number) =>
  createCounts(firstSlots).add;

/** The counts of a tally: `add` counts a content, `get` only looks. Both return how often it has come so far. */
export function createCounts(firstSlots = FIRST_SLOTS): {
  add(digest: Buffer): number;
  get(digest: Buffer): number;
} {
  let slots = new Uint32Array(firstSlots * SLOT_WORDS);
  let used = 0;

  function grow(): void {
    const before = slots;
    slots = new Uint32Array(before.length * 2);
    for (let i = 0; i < before.length; i += SLOT_WORDS) {
      const [high = 0, low = 0, count = 0] = before.subarray(i, i + SLOT_WORDS);
      if (count > 0) slots.set([high, low, count], find(slots, high, low));
    }
  }

  function get(digest: Buffer): number {
    return slots[find(slots, digest.readUInt32BE(0), digest.readUInt32BE(4)) + 2] ?? 0;
  }

  function add(digest: Buffer): number {
    const high = digest.readUInt32BE(0);
    const low = digest.readUInt32BE(4);
    let at = find(slots, high, low);
    const count = (slots[at + 2] ?? 0) + 1;
    if (count === 1) {
      used += 1;
      if (used > (slots.length / SLOT_WORDS) * MAX_LOAD) {
        grow();
        at = find(slots, high, low);
      }
    }
    slots[at] = high;
    slots[at + 1] = low;
    slots[at + 2] = count;
    return count;
  }

  return { add, get };
}

/** Finds the slot of these 64 bits, or the empty slot where they belong. The number of slots is a power of two. */
function find(slots: Uint32Array, high: number, low: number): number {
  const mask = slots.length / SLOT_WORDS - 1;
  for (let slot = low & mask; ; slot = (slot + 1) & mask) {
    const at = slot * SLOT_WORDS;
    if (slots[at + 2] === 0 || (slots[at] === high && slots[at + 1] === low)) return at;
  }
}
