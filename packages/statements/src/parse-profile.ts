import * as v from 'valibot';
import { decidingColumns, type Layout, type Profile, ProfileFile } from './profile.ts';
import { BANKS } from './profiles/bank-profiles.ts';
import { foldHeading } from './profiles/headings.ts';

/** A profile breaks a rule. The message names the key and the rule, such as `columns.date is missing`. */
export class ProfileError extends Error {
  override name = 'ProfileError';
}

/** Reads the profiles that come with this package. */
export const readBuiltInProfiles = (): Profile[] =>
  Object.entries(BANKS).map(([name, content]) => parseProfile(name, content));

/** What a variant has in place of keys of its profile. `parseLayouts` checks the keys. */
const WithVariants = v.looseObject({
  variants: v.optional(v.array(v.record(v.string(), v.unknown()), 'must be a list of objects'), []),
});

/**
 * Checks the content of a profile's file. A variant has all keys of its profile, except those that it replaces.
 * @throws {ProfileError} that names the first wrong key.
 */
export function parseProfile(name: string, content: unknown): Profile {
  const { variants, ...base } = check(WithVariants, content, '');
  const [first, ...others] = parseLayouts(name, base, '');
  const more = variants.flatMap((changes, at) =>
    parseLayouts(name, { ...base, ...changes }, `variants.${at}.`),
  );
  return { ...first, variants: [...others, ...more] };
}

/** Reads one layout for each delimiter. @param path of the layout in the file, for messages. */
function parseLayouts(name: string, content: unknown, path: string): [Layout, ...Layout[]] {
  const { delimiter, ...file } = check(ProfileFile, content, path);
  const contradiction = findContradiction(file);
  if (contradiction !== null) throw new ProfileError(path + contradiction.join(' '));
  const [first, ...others] = [delimiter].flat().map((one): Layout => ({ ...file, delimiter: one, name }));
  return [first as Layout, ...others];
}

function check<T extends v.GenericSchema>(schema: T, content: unknown, path: string): v.InferOutput<T> {
  const result = v.safeParse(schema, content, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new ProfileError(`${path}${v.getDotPath(issue) ?? 'the file'} ${explain(issue)}`);
}

/** Messages for issues without a message of ours: a missing key, an unknown key, a number out of range. */
function explain(issue: v.BaseIssue<unknown>): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a key of a profile';
  if (issue.received === 'undefined') return 'is missing';
  return issue.message.replaceAll(/\s+/g, ' ');
}

/** Checks rules about several keys, which the schema cannot check. @returns the key and the rule. */
function findContradiction(file: Omit<ProfileFile, 'delimiter'>): [string, string] | null {
  const { heading, skipRows, columns } = file;
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
  const wrong = decidingColumns(file).find(
    ([, column]) => typeof column === 'string' && !names.has(foldHeading(column)),
  );
  return wrong === undefined ? null : [wrong[0], 'must be one of the headings in "heading", or a position'];
}
