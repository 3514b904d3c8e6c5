import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ProfileError,
  parseProfile,
  readBuiltInProfiles,
} from '../../packages/statements/src/parse-profile.ts';
import type { Profile } from '../../packages/statements/src/profile.ts';
import { ConfigError } from '../platform/config.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** A profile, with the path of its file if it is one of PROFILES_DIR. */
type LoadedProfile = Profile & { path?: string };

/**
 * Loads the built-in profiles and the profiles in `dir`, one JSON file each. A file in `dir` replaces the built-in profile of the
 * same name.
 * @throws {ConfigError} that names the first wrong file, the key and the rule, in one line.
 */
export function loadProfiles(dir: string | undefined): LoadedProfile[] {
  const profiles = new Map<string, LoadedProfile>(readBuiltInProfiles().map((it) => [it.name, it]));
  for (const file of dir === undefined ? [] : listFiles(dir)) {
    const name = file.slice(0, -'.json'.length);
    if (!NAME.test(name)) {
      throw new ConfigError(
        `PROFILES_DIR: ${file}: the name must be up to 40 lower-case letters, digits and hyphens, and ".json".`,
      );
    }
    profiles.set(name, parseFile(name, join(dir ?? '', file), file));
  }
  return [...profiles.values()];
}

/** @throws {ConfigError} */
function parseFile(name: string, path: string, file: string): LoadedProfile {
  try {
    return { ...parseProfile(name, readJson(path, file)), path };
  } catch (error) {
    if (error instanceof ProfileError) throw new ConfigError(`PROFILES_DIR: ${file}: ${error.message}.`);
    throw error;
  }
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
