import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { parseAst } from 'vitest/node';

const ROOT = join(import.meta.dirname, '../..');

/** Where a source makes a RegExp. */
export interface Place {
  /** A path from the root of the repository. */
  file: string;
  line: number;
}

/** A RegExp that a source makes. */
export interface Pattern extends Place {
  source: string;
  flags: string;
}

/** What one source says about the RegExps that it makes. */
export interface PatternsOfSource {
  file: string;
  literals: Pattern[];
  /** The calls of the constructor, with or without `new`. */
  calls: Place[];
  /** Whether it does something as soon as it is imported, as the main file of a process or of a thread does. */
  isEntry: boolean;
}

/** Why a pattern is slow for some texts. */
export interface Slowness {
  /** Such as "polynomial of degree 2". */
  kind: string;
  /** An expression of a text for which it is slow. */
  attack: string;
  /** It is slow only because a search begins again at each character. */
  restarts: boolean;
}

/** The sources of the product and of its packages, as paths from the root. */
export const productSources = (): string[] =>
  ['src', ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/src`)]
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => join(folder, name))
        .toSorted(),
    );

interface Node {
  type: string;
  start: number;
  end: number;
  regex?: { pattern: string; flags: string };
  callee?: Node;
  name?: unknown;
  body?: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** A node and all nodes within it. */
function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* nodesOf(child);
}

const isImportedSafely = (statement: Node, code: string): boolean =>
  statement.type.endsWith('Declaration') ||
  !/\b(?:await|process|parentPort)\b/.test(code.slice(statement.start, statement.end));

/** Finds the RegExps of a source in its text. @param file a path from the root. */
export function patternsOf(file: string): PatternsOfSource {
  const code = readFileSync(join(ROOT, file), 'utf8');
  const program: Node = parseAst(code, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file);
  const placeOf = (node: Node): Place => ({ file, line: code.slice(0, node.start).split('\n').length });
  const nodes = [...nodesOf(program)];
  return {
    file,
    literals: nodes.flatMap((node) =>
      node.regex === undefined
        ? []
        : [{ ...placeOf(node), source: node.regex.pattern, flags: node.regex.flags }],
    ),
    calls: nodes
      .filter(({ callee }) => callee?.type === 'Identifier' && callee.name === 'RegExp')
      .map(placeOf),
    isEntry: Array.isArray(program.body) && !program.body.every((node) => isImportedSafely(node, code)),
  };
}

/** Runs a thread that posts one message. */
async function answerOf<T>(name: string, workerData: object): Promise<T> {
  const worker = new Worker(new URL(name, import.meta.url), {
    workerData,
    execArgv: [],
    // recheck then runs in the thread, and not in a program of its own.
    env: { ...process.env, RECHECK_BACKEND: 'pure' },
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`${name} ended with ${code}, and posted nothing.`)));
    });
  } finally {
    await worker.terminate();
  }
}

/**
 * Imports sources in a thread of its own.
 * @param paths from the root, without main files of processes and threads.
 * @returns the RegExps that they make with the constructor.
 */
export const builtPatterns = (paths: readonly string[]): Promise<Pattern[]> =>
  answerOf('./built-patterns.fixture.mjs', { root: ROOT, paths });

/** Finds out what is slow about each pattern. @returns null for a pattern whose time grows no faster than its text. */
export const findSlowness = (
  patterns: readonly Pick<Pattern, 'source' | 'flags'>[],
): Promise<(Slowness | null)[]> => answerOf('./slow-patterns.fixture.mjs', { patterns });
