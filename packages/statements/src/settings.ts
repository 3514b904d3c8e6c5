/** What a reader of files may need, and the words in which it gives advice. */

export interface Limits {
  /** The most bytes that a packed file may have when it is unpacked. */
  unpackedBytes: number;
  /** A file that unpacks to more than this many times its size is refused. Statements are text, which packs to about a tenth. */
  unpackRatio: number;
  /** The most files in one zip. */
  files: number;
  /** The most bytes of an XLSX file, which is in memory while it is read. */
  xlsxBytes: number;
}

/** Advice in errors, in the words of whoever sent the file: an option, a field of a form, or a flag. */
export interface Advice {
  /** How to choose a profile, such as `set the option profile`. */
  profile: string;
  /** How to name the format, such as `set the option format`. */
  format: string;
  /** The page that says how to write a profile. */
  page: string;
  /** A sentence: where all profiles are listed. */
  profiles: string;
  /** A sentence about a text whose encoding is not certain. */
  encoding: string;
  /** A sentence about an empty file. */
  empty: string;
  /** A sentence about files in other formats; empty: none. */
  otherFormats: string;
}

export interface ReadSettings {
  limits: Limits;
  advice: Advice;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: Limits = {
  unpackedBytes: 1024 * MIB,
  unpackRatio: 200,
  files: 1_000,
  xlsxBytes: 50 * MIB,
};

export const DEFAULT_SETTINGS: ReadSettings = {
  limits: DEFAULT_LIMITS,
  advice: {
    profile: 'set the option profile',
    format: 'set the option format',
    page: 'docs/formats/csv.md in @ledgerbell/statements',
    profiles: 'readBuiltInProfiles() lists those of the package. The option profiles takes your own.',
    encoding: 'The option encoding decides.',
    empty: 'Check the program that made it.',
    otherFormats: '',
  },
};

/** Up to this many unpacked bytes, `unpackRatio` is not checked. */
export const RATIO_FROM_BYTES = 16 * MIB;

export const inMib = (bytes: number): string => `${bytes / MIB} MiB`;
