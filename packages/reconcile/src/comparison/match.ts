import { type Books, groupOf } from '../books.ts';
import type { KnownReason, StatementRow } from '../statement.ts';
import { isId, type Laid, rowAt } from '../walk.ts';
import { countEach } from './counts.ts';

/**
 * Matches the rows that no other statement has decided with movements of the same day and amount: by the bank's reference, by balance, by
 * text, and by count (the third such payment of a day is the third one stored). Linear in the number of rows.
 *
 * - Two rows on walks are matched by a reference or a balance only, because their balances have been compared.
 * - Two rows that came without a statement are matched by their whole content only, because that is their identity.
 * - Within one format, rows with different references are not matched, and neither are rows with different texts, if that format repeats
 *   its texts.
 */
export function matchLeft(
  books: Books,
  laid: Laid,
  left: readonly number[],
  { idOf, mayBe, mayAssume }: MatchOptions,
): Match[] {
  const isLoose = laid.statement.kind === 'none';
  const rows = left.map((position) => rowAt(laid, position));
  const areOnWalk = left.every((position) => laid.isOnWalk.has(position));
  // Two rows on walks are matched by a reference or a balance only. Most statements of a day need not be looked at.
  const movements = areOnWalk
    ? books.candidatesOf(rows, mayBe)
    : new Set([...new Set(rows.map(groupOf))].flatMap((group) => books.ofGroup(group).filter(mayBe)));
  const candidates = [...movements]
    .sort((one, other) => one - other)
    .map((movement) => candidateOf(books, laid, movement));
  if (candidates.length === 0) return [];
  const areTextsKept = !isLoose && keepsTexts(books, laid);
  const matches: Match[] = [];
  const taken = new Set<Candidate>();
  const matched = new Set<number>();

  const names = new Set(candidates.map(nameOf));
  const present = TRAITS.filter((it) => names.has(nameOf(it)));
  const areIdsComparable = !areReissued(laid, candidatesOfFormat(candidates));
  // An equal id with another text of the same format may be an id that the bank repeats.
  const haveOtherTexts = (it: Candidate, position: number) =>
    it.textOfFormat !== null && it.textOfFormat !== rowAt(laid, position).text;
  const matchBy = ({ keysOf, keyOf, may, references = 'equal', isCertain = () => false }: Stage) => {
    const queues = new Queues(taken);
    for (const candidate of candidates) for (const key of keysOf(candidate)) queues.add(key, candidate);
    for (const position of left) {
      const row = rowAt(laid, position);
      const key = matched.has(position) ? null : keyOf(row);
      if (key === null) continue;
      const traits = present.filter((it) => may(it, position));
      const name = areIdsComparable ? referenceOf(row) : null;
      const allowed = name === null ? [ANY] : NAMES[references](name);
      const candidate = queues.first(`${groupOf(row)} ${key}`, traits, allowed);
      if (candidate === null) continue;
      const isSame = isCertain(candidate, position);
      if (!isSame && !mayAssume) continue;
      taken.add(candidate);
      matched.add(position);
      matches.push({ position, movement: candidate.movement, reason: isSame ? 'same' : 'assumed' });
    }
  };
  const isOnWalk = (position: number) => laid.isOnWalk.has(position);

  matchBy({
    keysOf: ({ group, references }) => references.filter(isId).map((it) => `${group} ${it}`),
    keyOf: idOf,
    may: () => true,
    references: 'any',
    isCertain: (it, position) => !haveOtherTexts(it, position),
  });
  matchBy({
    keysOf: ({ group, balances }) => balances.map((it) => `${group} ${it}`),
    keyOf: ({ balance }) => (balance === null ? null : String(balance)),
    may: (it) => !(isLoose && it.isLoose),
    // Two walks have been compared already. A file that can be read in both orders proves nothing.
    isCertain: (it, position) => isOnWalk(position) !== it.isOnWalk && (it.isOnWalk || it.isLoose),
  });
  if (!mayAssume) return matches;
  if (isLoose)
    matchBy({
      keysOf: ({ group, text, balances, isLoose: may }) =>
        may ? [`${group} ${balances[0] ?? null} ${text}`] : [],
      keyOf: ({ balance, text }) => `${balance} ${text}`,
      may: () => true,
    });
  const mayCount = (it: Traits, position: number) =>
    !(isOnWalk(position) && it.isOnWalk) && !(isLoose && it.isLoose);
  matchBy({
    keysOf: ({ group, text }) => [`${group} ${text}`],
    keyOf: ({ text }) => text,
    may: mayCount,
  });
  matchBy({
    keysOf: ({ group }) => [`${group} `],
    keyOf: () => '',
    // An equal reference that is no id, with another text, says nothing.
    references: 'none',
    may: (it, position) => {
      const row = rowAt(laid, position);
      // A text with a broken letter is no other text.
      const haveTexts = areTextsKept && it.isOfFormat && !it.isBroken && !row.isBroken;
      return mayCount(it, position) && !(haveTexts && referenceOf(row) === null);
    },
  });
  return matches;
}

interface MatchOptions {
  /** The bank's id of a row. null: it has none, or the bank repeats it. */
  idOf: (row: StatementRow) => string | null;
  /** Whether a row of the statement may be a movement. */
  mayBe: (movement: number) => boolean;
  mayAssume: boolean;
}

interface Match {
  position: number;
  movement: number;
  reason: KnownReason;
}

/** What may keep a movement from being matched with a row. */
interface Traits {
  isOnWalk: boolean;
  /** It came without a statement. */
  isLoose: boolean;
  /** A row of the same format has brought it. */
  isOfFormat: boolean;
  /** Letters of its text could not be read. */
  isBroken: boolean;
}

const BOTH = [false, true];
const TRAITS: readonly Traits[] = BOTH.flatMap((isOnWalk) =>
  BOTH.flatMap((isLoose) =>
    BOTH.flatMap((isOfFormat) => BOTH.map((isBroken) => ({ isOnWalk, isLoose, isOfFormat, isBroken }))),
  ),
);
const nameOf = ({ isOnWalk, isLoose, isOfFormat, isBroken }: Traits) =>
  `${isOnWalk} ${isLoose} ${isOfFormat} ${isBroken}`;

/** A stored movement that a row may be. */
interface Candidate extends Traits {
  movement: number;
  group: string;
  text: string;
  /** null: another format has brought the movement first, so that the text of this format is not stored. */
  textOfFormat: string | null;
  balances: readonly bigint[];
  references: readonly string[];
  /** Of the rows of the same format. */
  ofFormat: readonly string[];
}

interface Stage {
  keysOf: (candidate: Candidate) => readonly string[];
  keyOf: (row: StatementRow) => string | null;
  may: (traits: Traits, position: number) => boolean;
  /** What a row with a reference is matched with, by the references that its format has given to a movement. `equal`: the same, or none. */
  references?: keyof typeof NAMES;
  /** Whether the match is certain, and no assumption. */
  isCertain?: (candidate: Candidate, position: number) => boolean;
}

function candidateOf(books: Books, laid: Laid, movement: number): Candidate {
  const { seen, text, ...booked } = books.movements[movement] as Books['movements'][number];
  const group = groupOf(booked);
  const rows = seen.map((it) => rowAt(it.laid, it.position));
  const ofFormat = seen.filter((it) => it.laid.statement.format === laid.statement.format);
  return {
    movement,
    group,
    text,
    textOfFormat: findText(seen, laid),
    balances: [...new Set(rows.flatMap(({ balance }) => balance ?? []))],
    references: [...new Set(rows.flatMap(({ reference }) => reference ?? []))],
    ofFormat: [...new Set(ofFormat.flatMap((it) => rowAt(it.laid, it.position).reference ?? []))],
    isOnWalk: seen.some((it) => it.laid.isOnWalk.has(it.position)),
    isLoose: seen.length === 0 || seen.some((it) => it.laid.statement.kind === 'none'),
    isOfFormat: ofFormat.length > 0,
    isBroken: rows.some((row) => row.isBroken),
  };
}

/** The text with which a format has brought a movement. null: another format has. Texts of rows that were known are not stored. */
export const findText = (
  seen: readonly { laid: Laid; position: number }[],
  { statement: { format } }: Laid,
): string | null =>
  seen
    .filter(({ laid }) => laid.statement.format === format)
    .map(({ laid, position }) => rowAt(laid, position).text)
    .find((text) => text !== '') ?? null;

const referenceOf = ({ reference, isPosition }: StatementRow) => (isPosition ? null : reference);

const ANY = 'any';
const NONE = 'none';
const NAMES: Record<'any' | 'equal' | 'none', (reference: string) => readonly string[]> = {
  any: () => [ANY],
  equal: (reference: string) => [NONE, `= ${reference}`],
  none: () => [NONE],
};

/** Candidates by key, traits and reference, in the order in which they are stored. */
class Queues {
  readonly #taken: ReadonlySet<Candidate>;
  readonly #queues = new Map<string, { items: Candidate[]; at: number }>();

  constructor(taken: ReadonlySet<Candidate>) {
    this.#taken = taken;
  }

  add(key: string, candidate: Candidate): void {
    const { ofFormat } = candidate;
    const references = ofFormat.length === 0 ? [NONE] : ofFormat.map((it) => `= ${it}`);
    for (const reference of [ANY, ...references]) {
      const name = `${nameOf(candidate)} ${reference} ${key}`;
      const queue = this.#queues.get(name);
      if (queue === undefined) this.#queues.set(name, { items: [candidate], at: 0 });
      else queue.items.push(candidate);
    }
  }

  /** The first free candidate with one of these traits and one of these names of references. */
  first(key: string, traits: readonly Traits[], names: readonly string[]): Candidate | null {
    let first: Candidate | null = null;
    for (const it of traits) {
      for (const name of names) {
        const queue = this.#queues.get(`${nameOf(it)} ${name} ${key}`);
        while (queue !== undefined && this.#taken.has(queue.items[queue.at] as Candidate)) queue.at += 1;
        const found = queue?.items[queue.at];
        if (found !== undefined && (first === null || found.movement < first.movement)) first = found;
      }
    }
    return first;
  }
}

const candidatesOfFormat = (candidates: readonly Candidate[]) => candidates.filter((it) => it.isOfFormat);

/**
 * Whether the bank has given new ids: no id of these rows is known, and on the days that both have, one has all that the other has, by day,
 * amount and text. A single booking proves nothing.
 */
function areReissued({ statement: { rows } }: Laid, stored: readonly Candidate[]): boolean {
  const known = new Set(stored.flatMap(({ ofFormat }) => ofFormat.filter(isId)));
  if (known.size === 0 || rows.some(({ reference }) => isId(reference) && known.has(reference))) return false;
  const keysOf = (items: readonly { group: string; text: string }[]) =>
    countEach(items.map(({ group, text }) => `${group} ${text}`));
  const [brought, before] = [
    keysOf(rows.map((row) => ({ group: groupOf(row), text: row.text }))),
    keysOf(stored),
  ];
  let common = 0;
  for (const [key, count] of before) {
    if ((brought.get(key) ?? 0) < count) return false;
    common += count;
  }
  return common > 1;
}

/** Whether the format repeats its texts: one of the rows has the text of a stored row of the same format. */
function keepsTexts({ movements, ofGroup }: Books, { statement: { rows, format } }: Laid): boolean {
  const stored = new Set<string>();
  for (const group of new Set(rows.map(groupOf)))
    for (const movement of ofGroup(group))
      if (movements[movement]?.seen.some(({ laid }) => laid.statement.format === format))
        stored.add(`${group} ${movements[movement]?.text}`);
  return rows.some((row) => row.text !== '' && stored.has(`${groupOf(row)} ${row.text}`));
}
