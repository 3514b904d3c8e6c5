/** The common interface of the readers that are compared. An adapter turns the answer of each package into these types. */

export const BANK_FORMATS = ['mt940', 'camt', 'ofx', 'bai2', 'coda', 'cfonb120', 'norma43'] as const;
export type BankFormat = (typeof BANK_FORMATS)[number];

/** An entry as a user of the package would take it over. */
export interface ReadEntry {
  /** The day of booking, YYYY-MM-DD, or empty if there is none. */
  date: string;
  /** A debit is negative. */
  amount: number;
  /** Entries that are only announced do not count in the balance. */
  isBooked: boolean;
}

export interface ReadStatement {
  opening: number | null;
  closing: number | null;
  entries: ReadEntry[];
}

export interface ReadFile {
  statements: ReadStatement[];
  /** Whether the reader says that something is wrong or missing, without giving up. */
  isWarned: boolean;
}

/** A package, used as its documentation says. */
export interface Reader<Raw> {
  /** As in the registry of npm. */
  name: string;
  version: string;
  /** YYYY-MM-DD, of that version; null for the package of this project. */
  released: string | null;
  format: BankFormat;
  /** An option of the package, where it is compared with and without. */
  setting?: string;
  /** Loads the package. @param folder where packages are installed. @returns the work that is measured. */
  load(folder: string): Promise<(bytes: Buffer) => Promise<Raw> | Raw>;
  /** Puts what the package returns into common terms. It is not measured. */
  toFile(raw: Raw): ReadFile;
}

/** A reader of which only this folder's terms are left. */
export interface LoadedReader {
  read(bytes: Buffer): Promise<{ seconds: number; file: ReadFile }>;
}

export interface AnyReader
  extends Pick<Reader<unknown>, 'name' | 'version' | 'released' | 'format' | 'setting'> {
  open(folder: string): Promise<LoadedReader>;
}

/** Hides what a package returns. */
export function defineReader<Raw>({ load, toFile, ...about }: Reader<Raw>): AnyReader {
  return {
    ...about,
    async open(folder) {
      const parse = await load(folder);
      return {
        async read(bytes) {
          const started = performance.now();
          const raw = await parse(bytes);
          const seconds = (performance.now() - started) / 1_000;
          return { seconds, file: toFile(raw) };
        },
      };
    },
  };
}
