import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { ConfigError } from '../platform/config.ts';
import { BANKS } from '../statements/bank-profiles.ts';
import { foldHeading } from '../statements/headings.ts';
import { type Column, type Profile, ProfileFile } from '../statements/profile.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;

/**
 * Loads the built-in profiles and the profiles in `dir`, one JSON file each. A file in `dir` replaces the built-in profile of the
 * same name.
 * @throws {ConfigError} that names the first wrong file, the key and the rule, in one line.
 */
export function loadProfiles(dir: string | undefined): Profile[] {
  const profiles = new Map(
    Object.entries(BANKS).map(([name, content]) => [name, toProfile(name, content, `${name}.json`)]),
  );
  for (const file of dir === undefined ? [] : listFiles(dir)) {
    const name = file.slice(0, -'.json'.length);
    if (!NAME.test(name)) {
      throw new ConfigError(
        `PROFILES_DIR: ${file}: the name must be up to 40 lower-case letters, digits and hyphens, and ".json".`,
      );
    }
    const path = join(dir ?? '', file);
    profiles.set(name, { ...toProfile(name, readJson(path, file), file), path });
  }
  return [...profiles.values()];
}

/** @param file for the message. @throws {ConfigError} */
export function toProfile(name: string, content: unknown, file: string): Profile {
  const result = v.safeParse(ProfileFile, content, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    throw wrongKey(file, v.getDotPath(issue) ?? 'the file', explain(issue));
  }
  const contradiction = findContradiction(result.output);
  if (contradiction !== null) throw wrongKey(file, ...contradiction);
  return { ...result.output, name };
}

const wrongKey = (file: string, key: string, rule: string): ConfigError =>
  new ConfigError(`PROFILES_DIR: ${file}: ${key} ${rule}.`);

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

function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => file.endsWith('.json') && !file.startsWith('.'))
      .sort();
  } catch (error) {
    throw new ConfigError(`PROFILES_DIR must be the path of a readable folder (${codeOf(error)}).`);
  }
}

function readJson(path: string, file: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`PROFILES_DIR: ${file} must be a readable file (${codeOf(error)}).`);
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new ConfigError(`PROFILES_DIR: ${file} must be valid JSON.`);
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
