import { Argument, Command } from 'commander';
import { generateCompletion, SHELLS, type Shell } from '../completion.ts';
import type { CommandContext } from '../context.ts';

/** `ledgerbell completion`. @param program whose commands are completed. */
export const completionCommand = ({ terminal }: CommandContext, program: Command) =>
  new Command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices([...SHELLS]))
    .option('--json', 'print { "script" }')
    .action((shell: Shell, { json }: { json?: boolean }) => {
      const script = generateCompletion(program, shell);
      terminal.answer(json, { script }, script.trimEnd());
    });
