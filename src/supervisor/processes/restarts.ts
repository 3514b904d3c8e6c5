const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FIRST_PAUSE = SECOND / 2;
const LONGEST_PAUSE = 30 * SECOND;

/** This many deaths at the start within a minute end the service. */
const DEATHS_AT_START = 5;

/** The unexpected end of a process. */
export interface Death {
  /** Milliseconds since 1970. */
  at: number;
  /** Whether the process ended before it was ready. */
  atStart: boolean;
}

/**
 * Decides how long to wait before a process is started again: half a second, and twice as long after each further death within a minute,
 * up to 30 s.
 * @param deaths of this process, including the last.
 * @returns milliseconds, or `give up` after five deaths at the start within a minute.
 */
export function decideRestart(deaths: readonly Death[], now: number): number | 'give up' {
  const recent = deaths.filter(({ at }) => at > now - MINUTE);
  if (recent.filter(({ atStart }) => atStart).length >= DEATHS_AT_START) return 'give up';
  return Math.min(FIRST_PAUSE * 2 ** (recent.length - 1), LONGEST_PAUSE);
}
