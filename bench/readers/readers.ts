import { CAMT_READERS } from './camt-readers.ts';
import { CODA_READERS } from './coda-readers.ts';
import { MT940_READERS } from './mt940-readers.ts';
import { OFX_READERS } from './ofx-readers.ts';
import { OWN_READERS } from './own-readers.ts';
import type { AnyReader, BankFormat } from './reader.ts';

/** Those of npm, with the version that is compared. */
const FOREIGN_READERS: readonly AnyReader[] = [
  ...MT940_READERS,
  ...CAMT_READERS,
  ...OFX_READERS,
  ...CODA_READERS,
];

/** Of each format, the package of this project is the first. */
export const READERS: readonly AnyReader[] = [...OWN_READERS, ...FOREIGN_READERS];

export const readersOf = (format: BankFormat): AnyReader[] => READERS.filter((it) => it.format === format);

/** The packages that npm installs for the comparison. */
export const PACKAGES: readonly string[] = [
  ...new Set(FOREIGN_READERS.map(({ name, version }) => `${name}@${version}`)),
];
