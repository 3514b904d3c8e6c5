import { Argument, type Command, type Option } from 'commander';
import type { CommandContext } from './context.ts';

/** Generates the completion of commands for shells. */

/** The shells that a completion script can be generated for. */
const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The data of a command that completion needs. `path` is '' for the program itself, otherwise for example `webhooks list`. */
interface Node {
  path: string;
  commands: readonly Command[];
  options: readonly Option[];
  takesFile: boolean;
}

/** Generates a completion script from the commands themselves. The script contains all words and starts no process. */
function generateCompletion(program: Command, shell: Shell): string {
  const nodes = readNodes(program, '');
  switch (shell) {
    case 'bash':
      return bashScript(nodes);
    case 'zsh':
      // zsh can run completion functions of bash.
      return `#compdef ledgerbell\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(nodes)}`;
    case 'fish':
      return fishScript(nodes);
  }
}

function readNodes(command: Command, path: string): Node[] {
  const { commands, registeredArguments } = command;
  const options = command.createHelp().visibleOptions(command);
  const takesFile = registeredArguments.some((argument) => argument.name() === 'file');
  const children = commands.flatMap((child) => readNodes(child, `${path} ${child.name()}`.trim()));
  return [{ path, commands, options, takesFile }, ...children];
}

const longNames = (options: readonly Option[]) => options.flatMap(({ long }) => (long ? [long] : []));
const wordsOf = (words: readonly string[]) => words.join(' ');

function bashScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`);
  const words = nodes.map(
    ({ path, commands, options }) =>
      `    "${path}") words="${wordsOf([...commands.map((it) => it.name()), ...longNames(options)])}" ;;`,
  );
  const values = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ required }) => required)
      .map(({ long, argChoices }) => `    "${path} ${long}") words="${wordsOf(argChoices ?? [])}" ;;`),
  );
  return `_ledgerbell() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" at next
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${path:+$path }\${COMP_WORDS[at]}"
    case "$next" in ${paths.join('|')}) path="$next" ;; esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $previous" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _ledgerbell ledgerbell
`;
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options, takesFile }) => {
    const names = path.split(' ').filter((name) => name !== '');
    const seen = names.map((name) => `__fish_seen_subcommand_from ${name}`);
    const children = commands.map((it) => it.name());
    const open = children.length === 0 ? [] : [`not __fish_seen_subcommand_from ${wordsOf(children)}`];
    const start = `complete -c ledgerbell -n ${quote([...seen, ...open].join('; and '))}`;
    return [
      ...(takesFile ? [`${start} -F`] : []),
      ...commands.map((it) => `${start} -a ${it.name()} -d ${quote(it.description())}`),
      ...options.map(({ long, required, argChoices, description }) => {
        const value = required ? ` -x -a ${quote(wordsOf(argChoices ?? []))}` : '';
        return `${start} -l ${(long ?? '').replace(/^--/, '')}${value} -d ${quote(description)}`;
      }),
    ];
  });
  return `complete -c ledgerbell -f\n${lines.join('\n')}\n`;
}

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

/** `ledgerbell completion` */
export const defineCompletion = (command: Command, { terminal }: CommandContext) =>
  command
    .addArgument(new Argument('<shell>', 'which shell').choices([...SHELLS]))
    .option('--json', 'print { "script" }')
    .action((shell: Shell, { json }: { json?: boolean }) => {
      const script = generateCompletion(command.parent ?? command, shell);
      terminal.answer(json, { script }, script.trimEnd());
    });
