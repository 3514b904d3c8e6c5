import { DEFAULT_SETTINGS, type ReadSettings } from '../../packages/statements/src/settings.ts';

/**
 * Advice for the sender of a statement file, in words for each kind of reader. Messages are stored and answered in the words of the
 * API (`ADVICE`). The command line and the reports of sources replace them with their own (`inWordsOf`).
 */
const WORDS = {
  account: {
    api: 'send account_id with the file',
    'command line': 'use --account',
    source: 'give the source an account',
  },
  forceAccount: {
    api: 'send force_account=true with the file',
    'command line': 'use --force-account',
    source: 'give the source force_account',
  },
  newAccounts: {
    api: 'send create_accounts=true with the file',
    'command line': 'use --create-accounts',
    source: 'let the source create accounts',
  },
  profile: {
    api: 'send profile=NAME with the file',
    'command line': 'use --profile NAME',
    source: 'give the source a profile',
  },
  format: {
    api: 'send format=NAME with the file',
    'command line': 'use --format NAME',
    source: 'give the source a format',
  },
  type: {
    api: 'JSON and NDJSON need their own content types.',
    'command line': 'A file of JSON or NDJSON needs a name that ends in .json or .ndjson, or --format.',
    source: 'Sources do not collect JSON or NDJSON.',
  },
  empty: {
    api: 'Check how your program sends it: curl needs --data-binary @FILE.',
    'command line': 'Check the program that made it.',
    source: 'Check the program that made it.',
  },
  notDry: {
    api: 'Import it without dry_run',
    'command line': 'Import it without --dry-run',
    source: 'Import it',
  },
} as const;

/** A reader of messages outside of the API. */
export type Reader = 'command line' | 'source';

const all = Object.values(WORDS);

/** The words of the API, for messages. */
export const ADVICE = {
  account: WORDS.account.api,
  forceAccount: WORDS.forceAccount.api,
  newAccounts: WORDS.newAccounts.api,
  profile: WORDS.profile.api,
  format: WORDS.format.api,
  type: WORDS.type.api,
  empty: WORDS.empty.api,
  notDry: WORDS.notDry.api,
} as const;

/** A text with the words of the API replaced by those of its reader. */
export const inWordsOf = (reader: Reader, text: string): string =>
  all.reduce((changed, words) => changed.replaceAll(words.api, words[reader]), text);

/** Files are read with the words of the API. */
export const READ_SETTINGS: ReadSettings = {
  ...DEFAULT_SETTINGS,
  advice: {
    profile: ADVICE.profile,
    format: ADVICE.format,
    page: 'docs/formats/csv.md',
    profiles:
      'docs/formats/csv.md lists the profiles of this project, and ledgerbell formats those of PROFILES_DIR too.',
    empty: ADVICE.empty,
    encoding:
      'If letters are wrong, set the encoding of the account or of the source before you send the next file. Stored movements keep their text.',
    otherFormats: ADVICE.type,
  },
};
