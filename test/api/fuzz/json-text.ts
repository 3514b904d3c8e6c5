import fc from 'fast-check';

/**
 * JSON as it is written rather than as it is meant: numbers beyond a double, members given twice, or named `__proto__`, can
 * be written down, but are in no JavaScript value.
 */
export type Node =
  | { kind: 'literal'; text: string }
  | { kind: 'array'; items: Node[] }
  | { kind: 'object'; members: [name: string, value: Node][] };

export const literal = (text: string): Node => ({ kind: 'literal', text });

export function toNode(value: unknown): Node {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(toNode) };
  if (typeof value === 'object' && value !== null) {
    return {
      kind: 'object',
      members: Object.entries(value).map(([name, member]) => [name, toNode(member)]),
    };
  }
  return literal(JSON.stringify(value));
}

export function toText(node: Node): string {
  switch (node.kind) {
    case 'literal':
      return node.text;
    case 'array':
      return `[${node.items.map(toText).join(',')}]`;
    case 'object':
      return `{${node.members.map(([name, value]) => `${JSON.stringify(name)}:${toText(value)}`).join(',')}}`;
  }
}

/** Replaces a value with another, with none, or with several. */
type Change = (it: Node) => Node;

/** Changes the value that stands at `position` when all are counted, parents first; the position wraps around. */
export function changeAt(root: Node, position: number, change: Change): Node {
  const wanted = position % count(root);
  let at = -1;
  const walk = (node: Node): Node => {
    at += 1;
    if (at === wanted) return change(node);
    switch (node.kind) {
      case 'literal':
        return node;
      case 'array':
        return { kind: 'array', items: node.items.map(walk) };
      case 'object':
        return { kind: 'object', members: node.members.map(([name, value]) => [name, walk(value)]) };
    }
  };
  return walk(root);
}

function count(node: Node): number {
  const children =
    node.kind === 'array' ? node.items : node.kind === 'object' ? node.members.map(([, value]) => value) : [];
  return 1 + children.reduce((sum, child) => sum + count(child), 0);
}

const nested = (depth: number, [open, close]: readonly [string, string]) =>
  literal(`${open.repeat(depth)}1${close.repeat(depth)}`);

/** Changes that a client may make to a value: `hostile` gives it others to put in its place or beside it. */
export const change = (hostile: fc.Arbitrary<Node>): fc.Arbitrary<Change> =>
  fc.oneof(
    { weight: 6, arbitrary: hostile.map((other) => () => other) },
    {
      weight: 1,
      arbitrary: fc.constant<Change>((it) => ({ kind: 'array', items: [it] })),
    },
    {
      weight: 1,
      arbitrary: fc.constant<Change>((it) => ({ kind: 'object', members: [['value', it]] })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom(10, 1_000, 20_000),
          fc.constantFrom(['[', ']'] as const, ['{"a":', '}'] as const),
        )
        .map(
          ([depth, brackets]) =>
            () =>
              nested(depth, brackets),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .nat()
        .map((index) => onMembers((members) => members.filter((_, i) => i !== index % members.length))),
    },
    {
      weight: 2,
      arbitrary: fc
        .nat()
        .map((index) =>
          onMembers((members) => [...members, ...members.slice(index % (members.length || 1)).slice(0, 1)]),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.constantFrom(
            '__proto__',
            'constructor',
            'toString',
            'hasOwnProperty',
            '',
            '0',
            'id',
            'İ',
            '\u0000',
            'x'.repeat(5_000),
          ),
          hostile,
        )
        .map(([name, value]) => onMembers((members) => [...members, [name, value]])),
    },
  );

/** The members of an object. Any other value stays as it is. */
const onMembers =
  (to: (members: [string, Node][]) => [string, Node][]): Change =>
  (it) =>
    it.kind === 'object' ? { kind: 'object', members: to(it.members) } : it;
