import * as v from 'valibot';
import { SourceError } from '../connector.ts';
import type { HttpAnswer } from './http-get.ts';
import type { HttpSettings } from './http-settings.ts';

/** Reads one page of a JSON API: its movements, and where the next page is. */

export interface Page {
  movements: unknown[];
  /** Null: this is the last one. */
  next: URL | null;
}

const Body = v.object({ transactions: v.array(v.unknown()) });
const Cursor = v.union([v.string(), v.number(), v.null(), v.undefined()]);

/** @throws {SourceError} when the page does not have the shape of `POST /v1/imports`. */
export function readPage(text: string, answer: HttpAnswer, settings: HttpSettings): Page {
  const { host } = answer.url;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new SourceError(
      `A page of ${host} is not JSON. Check "url", or set "format" to "file" for a statement file.`,
    );
  }
  const body = v.safeParse(Body, json);
  if (!body.success) {
    throw new SourceError(`A page of ${host} has no array "transactions", as POST /v1/imports has it.`);
  }
  const next =
    settings.json === undefined ? nextOfLink(answer) : nextOfCursor(json, settings.json, settings.url, host);
  return { movements: body.output.transactions, next };
}

/** `Link: <…>; rel="next"` (RFC 8288). */
function nextOfLink({ headers, url }: HttpAnswer): URL | null {
  for (const [, target = '', parameters = ''] of (headers.link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? [];
    const relations = (quoted ?? bare ?? '').toLowerCase().split(/\s+/);
    if (!relations.includes('next')) continue;
    if (!URL.canParse(target, url.href))
      throw new SourceError(`The header Link of ${url.host} has a URL that cannot be read.`);
    return new URL(target, url);
  }
  return null;
}

function nextOfCursor(
  json: unknown,
  { cursor_path, cursor_parameter }: NonNullable<HttpSettings['json']>,
  first: string,
  host: string,
): URL | null {
  const found = v.safeParse(Cursor, memberAt(json, cursor_path.split('.')));
  if (!found.success)
    throw new SourceError(`"${cursor_path}" in a page of ${host} is neither a text nor a number.`);
  const cursor = found.output ?? '';
  if (cursor === '') return null;
  const next = new URL(first);
  next.searchParams.set(cursor_parameter, String(cursor));
  return next;
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return memberAt((value as Record<string, unknown>)[name], rest);
}
