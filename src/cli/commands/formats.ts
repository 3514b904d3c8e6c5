import type { Command } from 'commander';
import { type FormatDescription, listFormats } from '../../../packages/statements/src/format-names.ts';
import { loadProfiles } from '../../intake/load-profiles.ts';
import type { FormatName } from '../../intake/stage.ts';
import type { CommandContext } from '../context.ts';
import { type Column, renderColumns } from '../output.ts';

interface Format extends Omit<FormatDescription, 'format'> {
  name: string;
}

/** Their senders name these formats. */
const NAMED: Record<FormatName, Omit<Format, 'name'>> = {
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
      const formats: Format[] = [
        ...listFormats().map(({ format, ...it }) => ({ name: format, ...it })),
        ...Object.entries(NAMED).map(([name, it]) => ({ name, ...it })),
      ];
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
