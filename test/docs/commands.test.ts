import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { readSnippets } from './snippets.ts';

const CALL = /(?:npm run (?:--silent )?cli --|^(?:\S+=\S+ )*ledgerbell) (.*)/s;

/** After this, the text belongs to the shell: a pipe, a redirection, a comment or the end of a substitution. */
const SHELL = /\s+(?:[|>]|&&|#\s|\d?>).*|\)".*/s;

const calls = readSnippets().flatMap(({ page, line, command }) => {
  const [, call] = CALL.exec(command) ?? [];
  return call === undefined || /<command>|^…/.test(call)
    ? []
    : [{ page, line, call: call.replace(SHELL, '') }];
});

/** The words of a command line, without their quotation marks. */
const wordsOf = (call: string): string[] =>
  [...call.replaceAll('\\\n', ' ').matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replace(/["']/g, ''),
  );

/** Lets each command check its arguments and options, and do nothing. */
function disarm(command: Command): void {
  if (command.commands.length === 0) command.action(() => {});
  for (const child of command.commands) disarm(child);
}

it('the documentation has many commands of ledgerbell', () => {
  expect(calls.length).toBeGreaterThan(80);
});

it.each(calls)(
  '$page:$line: ledgerbell $call is an existing command with existing options',
  async ({ call }) => {
    const said: string[] = [];
    const terminal = { note: (text: string) => said.push(text), answer: () => {} };
    const words = wordsOf(call);
    const program = await createProgram({ terminal, env: {} } as never, words);
    disarm(program);
    await program.parseAsync(words, { from: 'user' }).catch((error: Error) => said.push(error.message));
    expect(said).toEqual([]);
  },
);
