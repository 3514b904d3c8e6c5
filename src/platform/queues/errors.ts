/**
 * What is wrong with Redis, by the beginning of its error: a code (Redis documentation, "Redis serialization protocol", simple errors),
 * or a text of ioredis or BullMQ. The words continue a sentence that begins with "Redis", and contain no detail.
 */
const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/\bOOM\b/, 'is out of memory and refuses writes (maxmemory)'],
  [/\bMISCONF\b/, 'refuses writes: it cannot save to its disk (MISCONF)'],
  [/\bREADONLY\b/, 'refuses writes: it is a read-only replica'],
  [/\bNOREPLICAS\b/, 'refuses writes: it has too few replicas (min-replicas-to-write)'],
  [/\bLOADING\b/, 'is still loading its data'],
  [/\bCLUSTERDOWN\b/, 'refuses commands: its cluster is not complete'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'refuses the user or the password of REDIS_URL'],
  [/\bNOPERM\b/, 'refuses a command: the user of REDIS_URL lacks a permission'],
  [/max number of clients/, 'takes no more connections (maxclients)'],
  [
    /^Missing key for job/,
    'has lost the key of a job: evicted or deleted (maxmemory-policy must be noeviction)',
  ],
  [/^Command timed out/, 'does not answer'],
];

/** What is wrong with Redis, for example "is out of memory and refuses writes". null: the error says nothing that is known. */
export function redisProblem(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const known = PROBLEMS.find(([pattern]) => pattern.test(error.message));
  if (known !== undefined) return known[1];
  const { code } = error as NodeJS.ErrnoException;
  const isUnreachable =
    code?.startsWith('E') || /closed|writeable|max retries|not ready|slots cache/.test(error.message);
  return isUnreachable ? 'cannot be reached' : null;
}
