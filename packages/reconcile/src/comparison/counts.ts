/** How often keys come, such as the amounts of rows. */

export function countEach<Key>(keys: Iterable<Key>): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Whether the key of each item comes as often as in the list. Ends at the first that does not. */
export function areAmong<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
  counts: ReadonlyMap<Key, number>,
): boolean {
  const used = new Map<Key, number>();
  return items.every((item) => {
    const key = keyOf(item);
    const count = (used.get(key) ?? 0) + 1;
    used.set(key, count);
    return count <= (counts.get(key) ?? 0);
  });
}
