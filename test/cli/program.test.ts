import { Help } from 'commander';
import { expect, it } from 'vitest';
import { type CommandContext, createTerminal } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { calledAs } from '../../src/platform/config.ts';

it('--help shows the options and arguments of each command', async () => {
  const program = await createProgram({} as CommandContext);
  const shown = program.createHelp();
  expect(program.commands.map((command) => shown.subcommandTerm(command))).toEqual(
    program.commands.map((command) => new Help().subcommandTerm(command)),
  );
});

it('a command line loads only the commands that it names', async () => {
  const { commands } = await createProgram({} as CommandContext, ['help', 'webhooks']);
  const whole = commands.filter((command) => command.commands.length > 0 || command.options.length > 0);
  expect(whole.map((command) => command.name())).toEqual(['webhooks']);
});

it('--help marks the options that a command needs', async () => {
  const program = await createProgram({} as CommandContext);
  const replay = program.commands.find((command) => command.name() === 'replay');
  const help = replay?.helpInformation() ?? '';
  expect(help).toMatch(/--webhook <id> +\(required\) the webhook/);
  expect(help).not.toMatch(/--until <moment> +\(required\)/);
});

it('hints name other commands as this one was called', () => {
  const bin = ['node', '/app/node_modules/.bin/ledgerbell'];
  expect(calledAs({}, bin)).toBe('ledgerbell');
  expect(calledAs({ npm_lifecycle_event: 'cli' }, ['node', 'dist/src/cli/main.js'])).toBe('npm run cli --');
  expect(calledAs({ npm_command: 'exec' }, bin)).toBe('npx ledgerbell');
  expect(calledAs({ npm_command: 'exec' }, ['node', 'vitest'])).toBe('ledgerbell');
  let written = '';
  const sink = {
    write(text: string) {
      written += text;
      return true;
    },
  };
  const terminal = createTerminal(sink as never, sink as never, 'npx ledgerbell');
  terminal.note('Start the service (ledgerbell start). See ledgerbell.com');
  terminal.answer(true, { hint: 'ledgerbell start' }, '');
  expect(written).toBe(
    'Start the service (npx ledgerbell start). See ledgerbell.com\n{"hint":"ledgerbell start"}\n',
  );
});
