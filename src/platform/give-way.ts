/** Lets the other work of a process go on while something long is done in slices. */

/** Milliseconds of work in one go. */
const SLICE = 1;

const waiting: (() => void)[] = [];

/** Lets one of those who wait go on per pass of the event loop, so that many long tasks delay the others no more than one does. */
function nextPass(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeOne);
  });
}

function resumeOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeOne);
}

/**
 * Creates a function for a loop that takes long. Call it often, and await it: it returns at once until a millisecond has gone since the others
 * had their turn, and then lets them go first.
 */
export function createGiveWay(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < SLICE) return undefined;
    return nextPass().then(() => {
      began = performance.now();
    });
  };
}
