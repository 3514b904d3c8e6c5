/** The formats of statement files, in the order in which a file is tested for them. */

export interface FormatDescription {
  format: StatementFormat;
  title: string;
  /** The usual extensions of such files. A file is recognised by its content. */
  extensions: readonly string[];
  recognisedBy: string;
}

const FORMATS = [
  {
    format: 'xlsx',
    title: 'Excel',
    extensions: ['.xlsx'],
    recognisedBy: 'a zip with the parts of a workbook; a profile, by its headings',
  },
  {
    format: 'camt',
    title: 'ISO 20022 camt.052, camt.053, camt.054',
    extensions: ['.xml'],
    recognisedBy: 'XML that names one of these messages',
  },
  {
    format: 'ofx',
    title: 'OFX 1 and 2, QFX',
    extensions: ['.ofx', '.qfx'],
    recognisedBy: 'OFXHEADER, or <OFX>',
  },
  {
    format: 'mt942',
    title: 'SWIFT MT942',
    extensions: ['.sta', '.942'],
    recognisedBy: 'as MT940, with :34F:, or with :13D: and no opening balance',
  },
  {
    format: 'mt940',
    title: 'SWIFT MT940',
    extensions: ['.sta', '.940', '.txt'],
    recognisedBy: ':60F: or :62F:, or :61:, or :20: with :25:',
  },
  {
    format: 'bai2',
    title: 'BAI2',
    extensions: ['.bai', '.bai2', '.txt'],
    recognisedBy: 'a file header (01) or a group header (02)',
  },
  {
    format: 'norma43',
    title: 'Norma 43 (Cuaderno 43, N43)',
    extensions: ['.n43', '.csb', '.q43', '.txt'],
    recognisedBy: 'the header of an account (11)',
  },
  {
    format: 'cfonb120',
    title: 'CFONB 120',
    extensions: ['.cfo', '.cfonb', '.txt'],
    recognisedBy: 'an old balance (01)',
  },
  {
    format: 'coda',
    title: 'CODA',
    extensions: ['.cod', '.txt'],
    recognisedBy: 'the header: `00000`, a date, a bank and `05`',
  },
  {
    format: 'csv',
    title: 'CSV',
    extensions: ['.csv'],
    recognisedBy: 'the headings of one profile, and of one only',
  },
] as const;

export type StatementFormat = (typeof FORMATS)[number]['format'];

/** Lists the formats that are read. Each may also come in gzip or zip. */
export const listFormats = (): readonly FormatDescription[] => FORMATS;

/** In the order in which errors and the API name them. */
export const STATEMENT_FORMATS = [
  'mt940',
  'mt942',
  'camt',
  'ofx',
  'csv',
  'xlsx',
  'bai2',
  'norma43',
  'cfonb120',
  'coda',
] as const satisfies readonly StatementFormat[];

export const isStatementFormat = (name: string): name is StatementFormat =>
  (STATEMENT_FORMATS as readonly string[]).includes(name);
