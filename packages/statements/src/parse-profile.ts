import * as v from 'valibot';
import { type Column, type Profile, ProfileFile } from './profile.ts';
import { BANKS } from './profiles/bank-profiles.ts';
import { foldHeading } from './profiles/headings.ts';

/** A profile breaks a rule. The message names the key and the rule, such as `columns.date is missing`. */
export class ProfileError extends Error {
  override name = 'ProfileError';
}

/** Reads the profiles that come with this package. */
export const readBuiltInProfiles = (): Profile[] =>
  Object.entries(BANKS).map(([name, content]) => parseProfile(name, content));

/**
 * Checks the content of a profile's file.
 * @throws {ProfileError} that names the first wrong key.
 */
export function parseProfile(name: string, content: unknown): Profile {
  const result = v.safeParse(ProfileFile, content, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    throw new ProfileError(`${v.getDotPath(issue) ?? 'the file'} ${explain(issue)}`);
  }
  const contradiction = findContradiction(result.output);
  if (contradiction !== null) throw new ProfileError(contradiction.join(' '));
  return { ...result.output, name };
}

/** Messages for issues without a message of ours: a missing key, an unknown key, a number out of range. */
function explain(issue: v.BaseIssue<unknown>): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a key of a profile';
  if (issue.received === 'undefined') return 'is missing';
  return issue.message.replaceAll(/\s+/g, ' ');
}

/** Checks rules about several keys, which the schema cannot check. @returns the key and the rule. */
function findContradiction({ heading, skipRows, columns, account }: ProfileFile): [string, string] | null {
  if ((heading === undefined) === (skipRows === undefined))
    return ['heading', 'or skipRows must be set, and not both'];
  const hasPair = columns.debit !== undefined && columns.credit !== undefined;
  const hasOneOfPair = columns.debit !== undefined || columns.credit !== undefined;
  if (hasOneOfPair && !hasPair) return ['columns.debit', 'and columns.credit go together'];
  if ((columns.amount !== undefined) === hasPair)
    return ['columns.amount', 'or columns.debit and columns.credit must be set, and not all'];
  if (columns.indicator !== undefined && hasPair)
    return ['columns.indicator', 'must stand beside columns.amount'];
  const names = new Set(heading?.map(foldHeading));
  const required: [string, Column | undefined][] = [
    ['columns.date', columns.date],
    ['columns.amount', columns.amount],
    ['columns.debit', columns.debit],
    ['columns.credit', columns.credit],
    ['columns.fee', columns.fee],
    ['columns.indicator.column', columns.indicator?.column],
    ['columns.status.column', columns.status?.column],
    ...(['number', 'currency'] as const).map((key): [string, Column | undefined] => {
      const place = account[key];
      return [`account.${key}.column`, place !== undefined && 'column' in place ? place.column : undefined];
    }),
  ];
  const wrong = required.find(([, column]) => typeof column === 'string' && !names.has(foldHeading(column)));
  return wrong === undefined ? null : [wrong[0], 'must be one of the headings in "heading", or a position'];
}
