import type { Command } from 'commander';
import type * as v from 'valibot';
import { DryRunView } from '../../intake/dry-run-view.ts';
import { countOf } from '../../platform/text.ts';
import type { Api } from '../api-client.ts';
import { withOptionName } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { printDryRun } from '../dry-run-output.ts';
import { Failure, NegativeAnswer } from '../failure.ts';
import {
  createProgress,
  describeRows,
  followImport,
  ImportAnswer,
  type ImportState,
  isAllRejected,
  rowsDone,
} from '../import-progress.ts';
import { withApi } from '../service-access.ts';
import {
  findStatementFile,
  importPath,
  openUpload,
  type StatementFile,
  type StatementParameters,
} from '../statement-file.ts';
import { parseHttpUrl, parseId } from '../values.ts';

interface Options extends StatementParameters {
  key?: string;
  format?: string;
  url?: URL;
  json?: boolean;
}

/** `ledgerbell import` */
export const defineImport = (command: Command, context: CommandContext) =>
  command
    .argument('<file>', 'a statement file, .json or .ndjson; "-": standard input')
    .option('--key <api key>', 'the API key of the customer (default: LEDGERBELL_API_KEY)')
    .option('--format <format>', 'the format, if neither the file name nor the content tells')
    .option('--account <id>', 'the account, if the file does not name it', parseId)
    .option('--profile <name>', 'the profile of a CSV or XLSX file, if its headings do not tell')
    .option('--create-accounts', 'create accounts that the customer does not have')
    .option('--force-account', 'store statements that name another account for --account all the same')
    .option('--dry-run', 'show what would be stored, and store nothing')
    .option(
      '--url <url>',
      'where the service is (default: LEDGERBELL_URL, else HOST and PORT of this configuration)',
      parseHttpUrl,
    )
    .option(
      '--json',
      'print { "import": { "id", "status", "inserted", … } }, or with --dry-run what the API answers',
    )
    .action(async (path: string, { key, format, url, json, ...parameters }: Options) => {
      const file = await findStatementFile(path, format);
      const client = context.readClientConfig();
      const apiKey = key ?? client.apiKey;
      if (apiKey === undefined)
        throw new Failure(
          'An import needs an API key: give --key, LEDGERBELL_API_KEY or LEDGERBELL_API_KEY_FILE.',
        );
      await withApi(context, { url: url ?? client.url, key: apiKey }, async (api) => {
        if (parameters.dryRun === true) {
          const { answer } = await send(api, file, parameters, DryRunView);
          return printDryRun(context.terminal, { json }, answer);
        }
        const { answer, lines } = await send(api, file, parameters, ImportAnswer);
        // Only NDJSON has one row per line.
        const rows = file.format === 'ndjson' ? lines : undefined;
        const ended = await follow(api, answer.import, rows, context.signal);
        context.terminal.answer(json, { import: ended }, describe(ended));
        if (isAllRejected(ended)) throw new NegativeAnswer('every row was rejected');
      });
    });

/** Issues of other fields concern the file itself, and are shown as the API writes them. */
const FIELDS_WITH_OPTION = ['format', 'account_id', 'profile', 'create_accounts', 'force_account'];

/** Uploads the file. @returns the answer and the number of lines in the file. */
async function send<S extends v.GenericSchema>(
  api: Api,
  file: StatementFile,
  parameters: StatementParameters,
  schema: S,
): Promise<{ answer: v.InferOutput<S>; lines: number }> {
  const bar = createProgress(parameters.dryRun === true ? 'Reading' : 'Sending', 'bytes');
  let sent = 0;
  bar.start(file.bytes);
  try {
    const { upload, countLines } = openUpload(file, (bytes) => {
      sent += bytes;
      bar.update(sent);
    });
    const answer = await api.upload(importPath(file, parameters), upload, schema).catch((error: unknown) => {
      throw withOptionName(error, FIELDS_WITH_OPTION);
    });
    return { answer, lines: countLines() };
  } finally {
    bar.stop();
  }
}

async function follow(
  api: Api,
  started: ImportState,
  lines: number | undefined,
  signal: AbortSignal,
): Promise<ImportState> {
  const bar = createProgress('Storing', 'rows');
  bar.start(started.received ?? lines);
  try {
    return await followImport(api, started, {
      signal,
      onState(state) {
        // `received` is null until the file has been read to the end.
        if (state.received !== null) bar.setTotal(state.received);
        bar.update(rowsDone(state));
      },
    });
  } finally {
    bar.stop();
  }
}

function describe(state: ImportState): string {
  const summary = `Import ${state.id} is done: ${describeRows(state)}; ${countOf(state.deliveries, 'delivery', 'deliveries')}.`;
  const { id, rejected, assumed_duplicates: assumed, assumed_new: assumedNew, conflicts } = state;
  return [
    summary,
    ...(rejected === 0 ? [] : [`Why rows were rejected: ledgerbell imports errors ${id}`]),
    ...(assumed === 0
      ? []
      : [
          `${countOf(assumed, 'row')} without an id: taken for equal movements, see ledgerbell imports duplicates ${id}`,
        ]),
    ...(assumedNew === 0
      ? []
      : [
          `${countOf(assumedNew, 'row')} stored, although nothing proves that they are new: see ledgerbell imports duplicates ${id}`,
        ]),
    ...(conflicts === 0 ? [] : ['Conflicts: ledgerbell conflicts list']),
  ].join('\n');
}
