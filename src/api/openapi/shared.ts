import { type ErrorAnswer, nameOfAnswer } from './errors.ts';
import type { Audience } from './headers.ts';

/** Puts parameters and errors that several operations have among the document's components, so that the document has each once. */

interface Operation {
  operationId: string;
  parameters?: { in: string; name: string }[];
  responses: Record<string, ErrorAnswer>;
}

export type Paths = Record<string, Record<string, Operation>>;

interface Shared {
  paths: object;
  components: { parameters: Record<string, unknown>; responses: Record<string, unknown> };
}

/** @returns the paths, with references to the components that it returns too. */
export function share(paths: Paths, audience: Audience): Shared {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const parameters = nameParameters(operations);
  const responses = nameResponses(operations, audience);
  const shareOne = (operation: Operation) => ({
    ...operation,
    ...(operation.parameters && {
      parameters: operation.parameters.map((it) => refer('parameters', it, textOf(it), parameters)),
    }),
    responses: mapValues(operation.responses, (it) => refer('responses', it, JSON.stringify(it), responses)),
  });
  const componentsOf = (names: Names) =>
    Object.fromEntries([...names.values()].map(({ name, value }) => [name, value]));
  return {
    paths: mapValues(paths, (methods) => mapValues(methods, shareOne)),
    components: { parameters: componentsOf(parameters), responses: componentsOf(responses) },
  };
}

/** The components with their names, by the text by which uses of one component are recognised. */
type Names = ReadonlyMap<string, { name: string; value: object }>;

/** A parameter as JSON, without its example, so that an example decides neither what is shared nor a type name of the SDK. */
const textOf = (parameter: object): string => JSON.stringify({ ...parameter, example: undefined });

/** Such as `query.dry_run`. Several parameters of one name, such as `id`, are told apart by the first operation that has them. The first example is kept. */
function nameParameters(operations: readonly Operation[]): Names {
  const uses = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters.map((it) => ({ name: `${it.in}.${it.name}`, operationId, text: textOf(it), value: it })),
  );
  const all = usedTwice(uses);
  const isAlone = (name: string) => all.filter((it) => it.name === name).length === 1;
  return new Map(
    all.map(({ name, operationId, text, value }) => [
      text,
      { name: isAlone(name) ? name : `${name}.${operationId}`, value },
    ]),
  );
}

const nameResponses = (operations: readonly Operation[], audience: Audience): Names =>
  new Map(
    usedTwice(
      operations.flatMap(({ responses }) =>
        Object.entries(responses).flatMap(([status, it]) => {
          const name = nameOfAnswer(status, it, audience);
          return name === null ? [] : [{ name, text: JSON.stringify(it), value: it }];
        }),
      ),
    ).map(({ text, ...component }) => [text, component]),
  );

/** The first of those with the same text. Leaves out a text that is there once. */
function usedTwice<T extends { text: string }>(uses: readonly T[]): T[] {
  const counts = new Map<string, number>();
  for (const { text } of uses) counts.set(text, (counts.get(text) ?? 0) + 1);
  const firsts = new Map(uses.toReversed().map((it) => [it.text, it]));
  return uses.filter((it) => firsts.get(it.text) === it && counts.get(it.text) !== 1);
}

function refer(kind: 'parameters' | 'responses', value: object, text: string, names: Names): object {
  const component = names.get(text);
  return component === undefined ? value : { $ref: `#/components/${kind}/${component.name}` };
}

/** The same object with other values. */
export const mapValues = <T, U>(values: Record<string, T>, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
