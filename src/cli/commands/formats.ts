import type { Command } from 'commander';
import { loadProfiles } from '../../intake/load-profiles.ts';
import type { FormatName } from '../../intake/stage.ts';
import type { StatementFormat } from '../../statements/formats.ts';
import type { CommandContext } from '../context.ts';
import { type Column, renderColumns } from '../output.ts';

interface Format {
  name: string;
  title: string;
  /** The usual extensions of such files. A statement file is recognised by its content. */
  extensions: readonly string[];
  recognisedBy: string;
}

/** The formats, in the order in which a file is tested for them. */
const FORMATS: Record<StatementFormat | FormatName, Omit<Format, 'name'>> = {
  xlsx: {
    title: 'Excel',
    extensions: ['.xlsx'],
    recognisedBy: 'a zip with the parts of a workbook; a profile, by its headings',
  },
  camt: {
    title: 'ISO 20022 camt.052, camt.053, camt.054',
    extensions: ['.xml'],
    recognisedBy: 'XML that names one of these messages',
  },
  ofx: { title: 'OFX 1 and 2, QFX', extensions: ['.ofx', '.qfx'], recognisedBy: 'OFXHEADER, or <OFX>' },
  mt942: {
    title: 'SWIFT MT942',
    extensions: ['.sta', '.942'],
    recognisedBy: 'as MT940, with :34F:, or with :13D: and no opening balance',
  },
  mt940: {
    title: 'SWIFT MT940',
    extensions: ['.sta', '.940', '.txt'],
    recognisedBy: ':60F: or :62F:, or :61:, or :20: with :25:',
  },
  bai2: {
    title: 'BAI2',
    extensions: ['.bai', '.bai2', '.txt'],
    recognisedBy: 'a file header (01) or a group header (02)',
  },
  csv: { title: 'CSV', extensions: ['.csv'], recognisedBy: 'the headings of one profile, and of one only' },
  json: {
    title: 'JSON',
    extensions: ['.json'],
    recognisedBy: 'the extension, --format or the content type application/json',
  },
  ndjson: {
    title: 'NDJSON',
    extensions: ['.ndjson', '.jsonl'],
    recognisedBy: 'the extension, --format or the content type application/x-ndjson',
  },
};

const FORMAT_COLUMNS: readonly Column<Format>[] = [
  ['format', ({ name }) => name],
  ['title', ({ title }) => title],
  ['files', ({ extensions }) => extensions.join(' ')],
  ['recognised by', ({ recognisedBy }) => recognisedBy, 'whole'],
];

interface ProfileView {
  name: string;
  bank: string;
  country: string | null;
  /** The profile's file in PROFILES_DIR; null: the profile comes with the program. */
  file: string | null;
}

const PROFILE_COLUMNS: readonly Column<ProfileView>[] = [
  ['profile', ({ name }) => name],
  ['country', ({ country }) => country],
  ['bank', ({ bank }) => bank],
  ['file', ({ file }) => file, 'whole'],
];

/** `ledgerbell formats` */
export const defineFormats = (command: Command, context: CommandContext) =>
  command
    .option('--json', 'print { "formats": [ … ], "profiles": [ … ] }')
    .action(({ json }: { json?: boolean }) => {
      const formats = Object.entries(FORMATS).map(([name, format]): Format => ({ name, ...format }));
      const profiles = loadProfiles(context.readConfig().profilesDir)
        .map(
          ({ name, bank, country = null, path = null }): ProfileView => ({ name, bank, country, file: path }),
        )
        .sort((one, other) => one.name.localeCompare(other.name, 'en'));
      const document = {
        formats: formats.map(({ recognisedBy, ...it }) => ({ ...it, recognised_by: recognisedBy })),
        profiles,
      };
      const text = [renderColumns(FORMAT_COLUMNS, formats), renderColumns(PROFILE_COLUMNS, profiles)];
      context.terminal.answer(json, document, text.join('\n\n'));
    });
