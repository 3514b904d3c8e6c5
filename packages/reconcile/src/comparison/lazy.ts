/** What is found only when somebody asks. Most statements are new or known as a whole, and need little of it. */

/** Makes a function that finds its result when it is called first. */
export function once<T>(find: () => T): () => T {
  let found: { value: T } | null = null;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}

/** Makes a function that finds its result for each object once. */
export function remember<Key extends object, T>(find: (key: Key) => T): (key: Key) => T {
  const found = new WeakMap<Key, { value: T }>();
  return (key) => {
    const known = found.get(key);
    if (known !== undefined) return known.value;
    const value = find(key);
    found.set(key, { value });
    return value;
  };
}

/**
 * Creates an index of items, which is filled when it is asked for.
 * @param items to which more may be added.
 * @param add is called for each item once, in their order, with its number from 0.
 */
export function createIndex<Item, Entry>(
  items: readonly Item[],
  add: (index: Map<string, Entry>, item: Item, number: number) => void,
): () => ReadonlyMap<string, Entry> {
  const index = new Map<string, Entry>();
  let added = 0;
  return () => {
    for (; added < items.length; added += 1) add(index, items[added] as Item, added);
    return index;
  };
}
