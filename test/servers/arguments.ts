import { isServerName, SERVERS, type ServerName } from './catalog.ts';

export interface Command {
  /** At most one of each role. */
  names: ServerName[];
  /** A major version of Node, or null for the one that runs this. */
  node: string | null;
  /** For vitest. */
  rest: string[];
}

/**
 * Server names and `--node` come first, in any order. The first argument that is neither begins those for vitest.
 * @throws {Error} with one line that names the choices.
 */
export function parseCommand(args: readonly string[]): Command {
  const names: ServerName[] = [];
  let node: string | null = null;
  let at = 0;
  for (; at < args.length; at++) {
    const argument = args[at] ?? '';
    if (argument === '--node') {
      at++;
      node = args[at] ?? '';
      if (!/^\d+$/.test(node)) throw new Error('--node takes a major version, such as 24.');
    } else if (isServerName(argument)) names.push(argument);
    else break;
  }
  const roles = names.map((name) => SERVERS[name].role);
  if (new Set(roles).size < roles.length) throw new Error(`Only one of ${names.join(' and ')} can be used.`);
  if (names.length === 0 && node === null) {
    throw new Error(`Name at least one of ${Object.keys(SERVERS).join(', ')}, or --node and a version.`);
  }
  return { names, node, rest: args.slice(at) };
}
