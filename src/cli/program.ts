import { Command, CommanderError } from 'commander';
import { VERSION } from '../platform/version.ts';
import {
  changeAccountCommand,
  createAccountCommand,
  deleteAccountCommand,
  listAccountsCommand,
  listBanksCommand,
} from './commands/accounts.ts';
import { createCustomerCommand, deleteCustomerCommand, listCustomersCommand } from './commands/customers.ts';
import {
  listDeliveriesCommand,
  redeliverCommand,
  showDeliveryCommand,
  showMovementCommand,
} from './commands/deliveries.ts';
import { formatsCommand } from './commands/formats.ts';
import { importCommand } from './commands/import.ts';
import {
  importErrorsCommand,
  listImportsCommand,
  retryImportCommand,
  showImportCommand,
} from './commands/imports.ts';
import { createKeyCommand, deleteKeyCommand, listKeysCommand } from './commands/keys.ts';
import { listenCommand } from './commands/listen.ts';
import { migrateCommand } from './commands/migrate.ts';
import { replayCommand } from './commands/replay.ts';
import { resealSecretsCommand } from './commands/secrets.ts';
import {
  createSourceCommand,
  deleteSourceCommand,
  enableSourceCommand,
  listSourceRunsCommand,
  listSourcesCommand,
  pauseSourceCommand,
  runSourceCommand,
  showSourceCommand,
} from './commands/sources.ts';
import { statusCommand } from './commands/status.ts';
import {
  changeWebhookCommand,
  createWebhookCommand,
  deleteWebhookCommand,
  enableWebhookCommand,
  listWebhooksCommand,
  pauseWebhookCommand,
  rotateSecretCommand,
  showWebhookCommand,
  testWebhookCommand,
} from './commands/webhooks.ts';
import { completionCommand } from './completion.ts';
import { explain, NegativeAnswer } from './failure.ts';
import type { CommandContext } from './output.ts';
import type { Terminal } from './terminal.ts';

type CommandFactory = (context: CommandContext) => Command;

/** The commands that belong together, by the word that comes before them. */
const GROUPS: readonly [name: string, description: string, commands: readonly CommandFactory[]][] = [
  ['customers', 'manage customers', [createCustomerCommand, listCustomersCommand, deleteCustomerCommand]],
  ['keys', 'manage API keys', [createKeyCommand, listKeysCommand, deleteKeyCommand]],
  [
    'accounts',
    'manage accounts',
    [createAccountCommand, changeAccountCommand, listAccountsCommand, deleteAccountCommand],
  ],
  ['banks', 'list banks', [listBanksCommand]],
  ['movements', 'show movements', [showMovementCommand]],
  [
    'webhooks',
    'manage webhooks',
    [
      createWebhookCommand,
      changeWebhookCommand,
      listWebhooksCommand,
      showWebhookCommand,
      testWebhookCommand,
      pauseWebhookCommand,
      enableWebhookCommand,
      rotateSecretCommand,
      deleteWebhookCommand,
    ],
  ],
  [
    'deliveries',
    'list, show and redeliver deliveries',
    [listDeliveriesCommand, showDeliveryCommand, redeliverCommand],
  ],
  [
    'imports',
    'follow and retry imports',
    [listImportsCommand, showImportCommand, importErrorsCommand, retryImportCommand],
  ],
  [
    'sources',
    'manage where files are collected from',
    [
      createSourceCommand,
      listSourcesCommand,
      showSourceCommand,
      runSourceCommand,
      listSourceRunsCommand,
      pauseSourceCommand,
      enableSourceCommand,
      deleteSourceCommand,
    ],
  ],
  ['secrets', 'what SECRET_KEY encrypts', [resealSecretsCommand]],
];

const COMMANDS: readonly CommandFactory[] = [
  statusCommand,
  migrateCommand,
  importCommand,
  formatsCommand,
  listenCommand,
  replayCommand,
];

/** Creates the program with every command of `ledgerbell`. */
export function createProgram(context: CommandContext): Command {
  const program = new Command('ledgerbell')
    .description('Sends each new bank movement as a signed POST to every matching webhook.')
    .version(VERSION);
  for (const create of COMMANDS) program.addCommand(create(context));
  for (const [name, description, commands] of GROUPS) {
    const group = new Command(name).description(description);
    for (const create of commands) group.addCommand(create(context));
    program.addCommand(group);
  }
  program.addCommand(completionCommand(context, program));
  configure(program, context.terminal);
  return program;
}

/** Configures each command, because commands that are created separately inherit nothing from the program. */
function configure(command: Command, terminal: Terminal): void {
  command
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => terminal.answer(false, null, text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      outputError: (text, write) => write(withoutArguments(text)),
    });
  for (const child of command.commands) configure(child, terminal);
}

/** Removes values, which may be secret, from an error: what follows the "=" of a mistyped `--secrt=whsec_…`, and invalid values. */
const withoutArguments = (text: string): string =>
  text.replace(/=[^']*'/, "'").replace(/ (argument|value) '[\s\S]*' is invalid/, ' is invalid');

/**
 * Runs one command line.
 * @returns the exit code: 0, or 1 after one line on standard error that says what was wrong.
 */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    await createProgram(context).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode;
    if (!(error instanceof NegativeAnswer)) context.terminal.note(`error: ${explain(error)}`);
    return 1;
  }
}
