const groups = new Set<number>();

/**
 * Sees to it that a child's process group does not outlive this process, should it end without stopping the child: as when
 * its time for a shutdown is over, or an error is caught by nobody. A process that is itself killed cannot do so.
 * @returns what ends this, for a child that has ended.
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

/** SIGKILL to a process group, whether or not there still is one. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
