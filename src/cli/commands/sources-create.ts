import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { KIND_NAMES } from '../../collecting/connectors/kinds.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { parseId } from '../values.ts';
import { describeSource, SourceAnswer } from './sources-view.ts';

interface Options extends AccessOptions {
  title: string;
  kind: string;
  path?: string;
  settings?: string;
  credentialsFile?: string;
  every?: string;
  cron?: string;
  timeZone?: string;
  account?: string;
  format?: string;
  profile?: string;
  createAccounts?: boolean;
}

/** `ledgerbell sources create` */
export const createSourceCommand = (context: CommandContext) =>
  addAccessOptions(new Command('create').description('collect statement files from a place, on a schedule'))
    .requiredOption('--title <title>', 'what the source is called')
    .addOption(new Option('--kind <kind>', 'of place').choices([...KIND_NAMES]).makeOptionMandatory())
    .option('--path <folder>', 'the folder, for the kind folder')
    .option('--settings <json>', 'where the files are: a JSON object, whose members depend on the kind')
    .option('--credentials-file <file>', 'a file with the credentials: a JSON object, as the kind needs it')
    .option('--every <interval>', 'how often it runs, such as 15m (default: every 15 minutes)')
    .addOption(new Option('--cron <fields>', 'when it runs, such as "0 7 * * 1-5"').conflicts('every'))
    .addOption(new Option('--time-zone <name>', 'of --cron, such as Europe/Istanbul').conflicts('every'))
    .option('--account <id>', 'that all files are about (default: the statements say which)', parseId)
    .option('--format <format>', 'of the files (default: auto)')
    .option('--profile <name>', 'of CSV and XLSX files')
    .option('--create-accounts', 'create accounts that the customer does not have')
    .action(async (options: Options) => {
      const { title, kind, every, cron, timeZone, account, format, profile, createAccounts } = options;
      const body = {
        title,
        kind,
        settings: readSettings(options),
        credentials: await readCredentials(options.credentialsFile),
        schedule:
          every === undefined && cron === undefined ? { every: '15m' } : { every, cron, time_zone: timeZone },
        account_id: account,
        format,
        profile,
        create_accounts: createAccounts,
      };
      const answer = await withAccess(context, options, { wakes: true }, (api) =>
        api.post('/v1/sources', body, SourceAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeSource(answer.source, zone));
    });

function readSettings({ path, settings }: Options): object {
  const given = settings === undefined ? {} : parseObject('--settings', settings);
  return path === undefined ? given : { ...given, path };
}

/** From a file, because credentials on the command line can be seen by other users of the machine. */
async function readCredentials(path: string | undefined): Promise<object | undefined> {
  if (path === undefined) return undefined;
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`--credentials-file ${path} cannot be read (${error.code}).`);
  });
  return parseObject('--credentials-file', text);
}

function parseObject(option: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Explained below. The text is not repeated, because it may be secret.
  }
  throw new Failure(`${option} must be a JSON object, such as {"path":"inbox"}.`);
}
