import { Command, CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import { createAccountCommand } from './commands/accounts-create.ts';
import { createCustomerCommand } from './commands/customers-create.ts';
import { listCustomersCommand } from './commands/customers-list.ts';
import { importCommand } from './commands/import.ts';
import { createKeyCommand } from './commands/keys-create.ts';
import { listenCommand } from './commands/listen.ts';
import { migrateCommand } from './commands/migrate.ts';
import { replayCommand } from './commands/replay.ts';
import { resealSecretsCommand } from './commands/secrets-reseal.ts';
import type { CommandContext } from './context.ts';
import { explain } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** Creates the program with every command of `ledgerbell`. */
function createProgram(context: CommandContext): Command {
  const group = (name: string, description: string, command: Command) =>
    new Command(name).description(description).addCommand(command);
  const program = new Command('ledgerbell')
    .description('Sends each new bank movement as a signed POST to every matching webhook.')
    .version(VERSION)
    .addCommand(migrateCommand(context))
    .addCommand(
      group('customers', 'manage customers', createCustomerCommand(context)).addCommand(
        listCustomersCommand(context),
      ),
    )
    .addCommand(group('keys', 'manage API keys', createKeyCommand(context)))
    .addCommand(group('accounts', 'manage accounts', createAccountCommand(context)))
    .addCommand(importCommand(context))
    .addCommand(listenCommand(context))
    .addCommand(replayCommand(context))
    .addCommand(group('secrets', 'what SECRET_KEY encrypts', resealSecretsCommand(context)));
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
  text.replace(/=[^']*'/, "'").replace(/ argument '[\s\S]*' is invalid/, ' is invalid');

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
    context.terminal.note(`error: ${explain(error)}`);
    return 1;
  }
}
