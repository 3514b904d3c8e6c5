export { type FormatDescription, listFormats, type StatementFormat } from './format-names.ts';
export { ProfileError, parseProfile, readBuiltInProfiles } from './parse-profile.ts';
export type { Profile } from './profile.ts';
export {
  type Account,
  type Balance,
  type Entry,
  type ReadOptions,
  type Rejected,
  readStatements,
  type Source,
  type Statement,
  type Warning,
} from './read-statements.ts';
export { DEFAULT_LIMITS, type Limits } from './settings.ts';
export { UnreadableFileError } from './unreadable.ts';
