import { Help } from 'commander';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';

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
