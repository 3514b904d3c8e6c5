import type { Token } from './tokens.ts';

/**
 * An element that contains other elements. Its values are found by name. The values of aggregates inside it are found by path, such
 * as `PAYEE.NAME`.
 */
export interface Aggregate {
  name: string;
  /** The line of its opening tag. */
  line: number;
  values: Map<string, string>;
  /** Names of values that occur more than once and differ, or that have a tag inside. The first value is kept. */
  ambiguous: Set<string>;
  /** Names of values that were longer than 8 Ki characters. Their beginning is kept. */
  shortened: Set<string>;
}

export type AggregateEvent =
  | { type: 'begin'; aggregate: Aggregate; inside: readonly Aggregate[] }
  /** `complete` is false if the file ends inside the aggregate. */
  | { type: 'end'; line: number; aggregate: Aggregate; inside: readonly Aggregate[]; complete: boolean }
  /** A closing tag without an opening one. */
  | { type: 'unopened'; name: string; line: number };

/**
 * The depths of the aggregates that are read. An aggregate ends, at the latest, where another of the same or a lower depth begins.
 * Some banks leave out its closing tag, although OFX 1 allows this only for values.
 */
const DEPTHS = new Map(
  [
    ['OFX'],
    ['SIGNONMSGSRSV1', 'SIGNUPMSGSRSV1', 'BANKMSGSRSV1', 'CREDITCARDMSGSRSV1', 'INVSTMTMSGSRSV1'],
    ['STMTTRNRS', 'CCSTMTTRNRS', 'INVSTMTTRNRS', 'ACCTINFOTRNRS'],
    ['SONRS', 'STMTRS', 'CCSTMTRS', 'INVSTMTRS'],
    ['BANKACCTFROM', 'CCACCTFROM', 'BANKTRANLIST', 'BANKTRANLISTP', 'LEDGERBAL', 'AVAILBAL', 'BALLIST'],
    ['STMTTRN', 'STMTTRNP', 'BAL'],
    ['STATUS', 'FI', 'PAYEE', 'BANKACCTTO', 'CCACCTTO', 'CURRENCY', 'ORIGCURRENCY', 'IMAGEDATA', 'EXTDPMT'],
  ].flatMap((names, depth) => names.map((name) => [name, depth] as const)),
);

/** Aggregates whose values belong to the aggregate around them. */
const PARTS = new Set(
  'BANKACCTFROM CCACCTFROM LEDGERBAL STATUS FI PAYEE BANKACCTTO CCACCTTO CURRENCY ORIGCURRENCY'.split(' '),
);

/** The values that are read. All others are dropped. */
const VALUES = new Set(
  (
    'ACCTID BALAMT BANKID CHECKNUM CODE CORRECTACTION CORRECTFITID CURDEF CURRATE CURSYM DTASOF DTAVAIL DTEND DTPOSTED DTSTART DTTRAN EXTDNAME FITID MEMO MESSAGE ' +
    'NAME ORG SEVERITY TRNAMT TRNTYPE'
  ).split(' '),
);

/** Tags of HTML that some banks leave within a value. */
const MARKUP = new Set('B BR DIV EM FONT I P SPAN STRONG U'.split(' '));

const MAX_VALUE = 8 * 1024;

/** Builds aggregates from tags and text. A value ends at the next tag of OFX, whether it has a closing tag or not. */
export function createAggregateReader() {
  const open: Aggregate[] = [];
  let value: { name: string; text: string } | null = null;
  let events: AggregateEvent[] = [];

  const endValue = () => {
    const owner = open.at(-1);
    if (value !== null && owner !== undefined) keep(owner, value.name, value.text);
    value = null;
  };
  const endAggregate = (line: number, complete = true) => {
    const aggregate = open.pop();
    if (aggregate === undefined) return;
    const owner = open.at(-1);
    if (complete && owner !== undefined && PARTS.has(aggregate.name)) {
      for (const [name, text] of aggregate.values) keep(owner, `${aggregate.name}.${name}`, text);
      for (const name of aggregate.ambiguous) owner.ambiguous.add(`${aggregate.name}.${name}`);
    }
    events.push({ type: 'end', line, aggregate, inside: [...open], complete });
  };
  const begin = (name: string, line: number, depth: number) => {
    while (open.length > 0 && depthOf(open.at(-1)) >= depth) endAggregate(line);
    const aggregate: Aggregate = {
      name,
      line,
      values: new Map(),
      ambiguous: new Set(),
      shortened: new Set(),
    };
    events.push({ type: 'begin', aggregate, inside: [...open] });
    open.push(aggregate);
  };
  const readTag = (type: 'open' | 'close' | 'empty', name: string, line: number) => {
    if (value !== null && MARKUP.has(name)) {
      value.text += '\n';
      return;
    }
    // The value ended at a tag inside it, so it may be incomplete.
    if (type === 'close' && VALUES.has(name) && value?.name !== name) open.at(-1)?.ambiguous.add(name);
    endValue();
    const depth = DEPTHS.get(name);
    if (depth === undefined) {
      if (type === 'open' && VALUES.has(name)) value = { name, text: '' };
      return;
    }
    if (type !== 'close') begin(name, line, depth);
    if (type === 'open') return;
    if (open.some((aggregate) => aggregate.name === name)) {
      while (open.at(-1)?.name !== name) endAggregate(line);
      endAggregate(line);
    } else {
      events.push({ type: 'unopened', name, line });
    }
  };

  return {
    read(tokens: readonly Token[]): AggregateEvent[] {
      events = [];
      for (const token of tokens) {
        if (token.type !== 'text') readTag(token.type, token.name, token.line);
        else if (value !== null && value.text.length <= MAX_VALUE) value.text += token.text;
      }
      return events;
    },
    /** Ends the open aggregates. The last value may be cut off, so it is not kept. */
    end(line: number): AggregateEvent[] {
      events = [];
      value = null;
      while (open.length > 0) endAggregate(line, false);
      return events;
    },
  };
}

const depthOf = (aggregate: Aggregate | undefined): number => DEPTHS.get(aggregate?.name ?? '') ?? -1;

function keep(aggregate: Aggregate, name: string, text: string): void {
  if (text.length > MAX_VALUE) aggregate.shortened.add(name);
  const clean = joinLines(text.slice(0, MAX_VALUE));
  const before = aggregate.values.get(name);
  if (before === undefined) aggregate.values.set(name, clean);
  else if (before !== clean) aggregate.ambiguous.add(name);
}

/** Joins a value of several lines. Line ends count as a space. */
function joinLines(text: string): string {
  const trimmed = text.trim();
  if (!/[\r\n]/.test(trimmed)) return trimmed;
  return trimmed.replace(/\s+/g, (space) => (/[\r\n]/.test(space) ? ' ' : space));
}
