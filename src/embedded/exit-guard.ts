const groups = new Set<number>();

/**
 * Kills a child's process group when this process exits without having stopped the child, for example after an uncaught error
 * or when a shutdown takes too long. It cannot do so if this process is itself killed.
 * @returns a function that cancels this, for a child that has ended.
 */
export function killWithProcess(group: number): () => void {
  if (groups.size === 0) process.on('exit', killAll);
  groups.add(group);
  return () => {
    groups.delete(group);
    if (groups.size === 0) process.off('exit', killAll);
  };
}

function killAll(): void {
  for (const group of groups) killGroup(group);
}

/** Sends SIGKILL to a process group, if it still exists. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
