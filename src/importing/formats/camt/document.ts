import { FIRST_ONLY, type Field, type Fields } from './element-paths.ts';
import { IGNORED, OUTSIDE, type Place, type Scope } from './places.ts';
import type { ElementHandler } from './xml.ts';

/** A field that is longer keeps what it has. A description has 4,000 characters. */
const MAX_FIELD = 4_096;

export interface ScopeHandler {
  /** @param fields grow as the element is read. */
  begin(scope: Scope, fields: Fields, name: string, line: number): void;
  complete(scope: Scope, line: number): void;
}

interface OpenElement {
  place: Place;
  /** Of the innermost scope. */
  fields: Fields;
  text: string;
}

/** Follows the elements of a document to their places, and collects the fields of each scope. */
export function createDocument(handler: ScopeHandler): ElementHandler {
  let at: OpenElement = { place: OUTSIDE, fields: {}, text: '' };
  // By depth. Elements at the same depth take turns with one object, since a message has millions of them.
  const elements = [at];
  let depth = 0;
  return {
    open(name, attributes, line) {
      const { place: above, fields } = at;
      const place = above.children.get(name) ?? (above.isEndless ? above : IGNORED);
      depth += 1;
      at = elements[depth] ??= { place, fields, text: '' };
      at.place = place;
      at.fields = place.scope === null ? fields : {};
      at.text = '';
      if (place.scope !== null) handler.begin(place.scope, at.fields, name, line);
      if (place.currency !== null) put(at.fields, place.currency, attributes.Ccy ?? '');
    },
    text(text) {
      if (at.place.field !== null) at.text += text;
    },
    close(line) {
      const { place, fields, text } = at;
      if (place.field !== null) put(fields, place.field, text.trim());
      if (place.scope !== null) handler.complete(place.scope, line);
      depth = Math.max(0, depth - 1);
      at = elements[depth] as OpenElement;
    },
  };
}

function put(fields: Fields, field: Field, text: string): void {
  const before = fields[field];
  if (text === '') return;
  if (before === undefined) fields[field] = text;
  // An amount or a date that occurs twice becomes unreadable in this way, and is reported.
  else if (!FIRST_ONLY.has(field) && before.length <= MAX_FIELD) fields[field] = `${before} ${text}`;
}
