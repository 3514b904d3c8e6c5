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

/** Resolves when a long task may go on; undefined: it may go on immediately. */
export type GiveWay = () => Promise<void> | undefined;

/**
 * Creates a function that a long loop awaits in each step. For a millisecond it returns immediately. After that, it lets other work of the
 * process run first.
 */
export function createGiveWay(): GiveWay {
  let began = performance.now();
  return () => {
    if (performance.now() - began < SLICE) return undefined;
    return nextPass().then(() => {
      began = performance.now();
    });
  };
}
