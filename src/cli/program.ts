import { Command, CommanderError, Help, type Option } from 'commander';
import { VERSION } from '../platform/config.ts';
import { type CommandContext, explain, Interruption, NegativeAnswer, type Terminal } from './context.ts';

/** The commands of the command line, with their groups, options and help. */

/** Adds arguments, options and the action to a command. */
type Define = (command: Command, context: CommandContext) => Command;

/** Adds commands to a group. */
const group =
  (commands: readonly ((context: CommandContext) => Command)[]): Define =>
  (command, context) => {
    for (const create of commands) command.addCommand(create(context));
    return command;
  };

/**
 * Each command and group, as --help shows it. A command's code is loaded when the command is called, because loading all code would take
 * longer than most commands.
 */
const COMMANDS: readonly [term: string, description: string, load: () => Promise<Define>][] = [
  [
    'start [options]',
    'run the service until Ctrl-C',
    async () => (await import('./commands/start.ts')).defineStart,
  ],
  [
    'demo [options]',
    'start the service with its own servers, import a bank statement, and check every notification',
    async () => (await import('./commands/demo.ts')).defineDemo,
  ],
  [
    'status [options]',
    'show whether all is well; the exit code is 1 if not',
    async () => (await import('./commands/status.ts')).defineStatus,
  ],
  [
    'migrate [options]',
    'bring the database schema up to date',
    async () => (await import('./commands/migrate.ts')).defineMigrate,
  ],
  [
    'skip-ids [options]',
    'after a failover that lost rows, or a restore: give out ids that nobody has seen',
    async () => (await import('./commands/skip-ids.ts')).defineSkipIds,
  ],
  [
    'import [options] <file>',
    'import a file of movements and wait until they are stored',
    async () => (await import('./commands/import.ts')).defineImport,
  ],
  [
    'formats [options]',
    'show the formats of files, and the profiles of CSV and XLSX files',
    async () => (await import('./commands/formats.ts')).defineFormats,
  ],
  [
    'listen [options]',
    'receive, verify and print notifications until Ctrl-C',
    async () => (await import('./commands/listen.ts')).defineListen,
  ],
  [
    'feed [options] <webhook>',
    'print the events of a webhook that is pulled, as JSON, until Ctrl-C',
    async () => (await import('./commands/feed.ts')).defineFeed,
  ],
  [
    'replay [options]',
    'send failed or delivered notifications of a webhook again',
    async () => (await import('./commands/replays.ts')).defineReplay,
  ],
  [
    'replays',
    'show how far replays are, and cancel them',
    async () => group((await import('./commands/replays.ts')).replays),
  ],
  ['customers', 'manage customers', async () => group((await import('./commands/customers.ts')).customers)],
  [
    'operators',
    "manage operators' tokens for the API",
    async () => group((await import('./commands/operators.ts')).operators),
  ],
  ['keys', 'manage API keys', async () => group((await import('./commands/keys.ts')).keys)],
  ['accounts', 'manage accounts', async () => group((await import('./commands/accounts.ts')).accounts)],
  ['banks', 'list banks', async () => group((await import('./commands/accounts.ts')).banks)],
  [
    'movements',
    'list, show and export movements',
    async () => group((await import('./commands/movements.ts')).movements),
  ],
  ['webhooks', 'manage webhooks', async () => group((await import('./commands/webhooks.ts')).webhooks)],
  [
    'templates',
    'show webhook templates, which stand for one webhook per customer',
    async () => group((await import('./commands/templates.ts')).templates),
  ],
  [
    'deliveries',
    'list, show and redeliver deliveries',
    async () => group((await import('./commands/deliveries.ts')).deliveries),
  ],
  [
    'imports',
    'follow, retry and withdraw imports',
    async () => group((await import('./commands/imports.ts')).imports),
  ],
  [
    'statements',
    'withdraw statements that the bank has replaced',
    async () => group((await import('./commands/withdrawals.ts')).statements),
  ],
  [
    'withdrawals',
    'show how far withdrawals of imports and statements are',
    async () => group((await import('./commands/withdrawals.ts')).withdrawals),
  ],
  [
    'verify [options]',
    'check the books of a customer: statements, movements and deliveries; the exit code is 1 if they are not right',
    async () => (await import('./commands/verify.ts')).defineVerify,
  ],
  [
    'conflicts',
    'list and decide rows with the id of a stored movement and another content',
    async () => group((await import('./commands/conflicts.ts')).conflicts),
  ],
  [
    'sources',
    'manage where files are collected from',
    async () => group((await import('./commands/sources.ts')).sources),
  ],
  ['secrets', 'what SECRET_KEY encrypts', async () => group((await import('./commands/secrets.ts')).secrets)],
  [
    'completion [options] <shell>',
    'print a script that completes commands and options in your shell',
    async () => (await import('./completion.ts')).defineCompletion,
  ],
];

const nameOf = (term: string): string => term.replace(/ .*/, '');

const TERMS = new Map(COMMANDS.map(([term]) => [nameOf(term), term]));

/**
 * Creates the program `ledgerbell`.
 * @param args the words of a command line. Commands that it does not name are stubs without options and actions. Without `args`, all
 * commands are complete.
 */
export async function createProgram(context: CommandContext, args?: readonly string[]): Promise<Command> {
  const isWhole = (name: string) =>
    // The script of `completion` names all options.
    args === undefined || args.includes(name) || args.includes('completion');
  const program = new Command('ledgerbell')
    .description('Sends each new bank movement as a signed POST to every matching webhook.')
    .configureHelp({ subcommandTerm: (it) => TERMS.get(it.name()) ?? 'help [command]' })
    .version(VERSION);
  for (const [term, description, load] of COMMANDS) {
    const command = new Command(nameOf(term)).description(description);
    if (isWhole(command.name())) (await load())(command, context);
    program.addCommand(command);
  }
  configure(program, context.terminal);
  return program;
}

/** Marks the options that a command needs. */
const describeOption = (option: Option): string =>
  `${option.mandatory ? '(required) ' : ''}${new Help().optionDescription(option)}`;

/** Configures each command, because separately created commands inherit nothing from the program. */
function configure(command: Command, terminal: Terminal): void {
  command
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => terminal.answer(false, null, text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      outputError: (text, write) => write(withoutArguments(text)),
    });
  for (const child of command.commands) configure(child, terminal);
}

/** Removes values from an error, because they may be secret: the text after "=" in a mistyped `--secrt=whsec_…`, and invalid values. */
function withoutArguments(text: string): string {
  const error = text.replace(/^([^=]*)=[^']*'/, "$1'");
  const [before, after] = [/ (?:argument|value) '/.exec(error), error.lastIndexOf("' is invalid")];
  return before === null || after < before.index + before[0].length
    ? error
    : error.slice(0, before.index) + error.slice(after + 1);
}

/**
 * Runs one command line.
 * @returns the exit code: 0, or 1 after one line on standard error that explains the error.
 */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  try {
    const program = await createProgram(context, args);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error, or the help that was asked for.
    if (error instanceof CommanderError || error instanceof Interruption) return error.exitCode;
    if (!(error instanceof NegativeAnswer)) context.terminal.note(`error: ${explain(error)}`);
    return 1;
  }
}
