/** Rules for the names of files, the same for all kinds of sources. */

const SECOND = 1_000;

/** Names that programs give a file while they are writing it. */
const UNFINISHED = /^\.|\.(?:part|partial|tmp|temp|filepart|crdownload|writing|uploading)$|~$/i;

/** The most bytes of a file, as many as of an upload. */
export const MAX_FILE_BYTES = 1024 ** 3;

/** How long a run waits for files that may still be written. A later run takes the files that are not complete by then. Milliseconds. */
export const WAIT_FOR_WRITERS = 15_000;

/** Files of one run that are watched until they have not changed for `settleSeconds`. */
export interface Settling {
  settleSeconds: number;
  now: () => number;
}

/**
 * Says whether nothing has changed a file for `settleSeconds`. A time in the future says nothing about that, because the clock of the
 * server may be ahead: the caller looks at such a file twice.
 */
export function isSettled(changedAt: number, { settleSeconds, now }: Settling): boolean {
  const age = now() - changedAt;
  return age < 0 || age >= settleSeconds * SECOND;
}

/** Says whether the name belongs to a file that is hidden or still being written. */
export const isUnfinished = (name: string): boolean => UNFINISHED.test(name);

/**
 * Says whether a name matches a pattern, in which `*` stands for any characters and `?` for one. Upper and lower case are different.
 * Takes linear space and at most name × pattern steps. A malicious regular expression could take minutes.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  let at = 0;
  let wanted = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    if (pattern[wanted] === '*') {
      star = wanted;
      starAt = at;
      wanted += 1;
    } else if (pattern[wanted] === '?' || pattern[wanted] === name[at]) {
      wanted += 1;
      at += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      wanted = star + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  return /^\**$/.test(pattern.slice(wanted));
}

/** The n-th name for a file whose name is taken: "statement.sta", "statement.2.sta", … */
export function numberedName(name: string, n: number): string {
  if (n === 1) return name;
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)}.${n}${name.slice(dot)}` : `${name}.${n}`;
}
