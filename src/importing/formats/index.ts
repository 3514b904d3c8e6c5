import type { Reader } from './format.ts';
import { readJson } from './json.ts';
import { readNdjson } from './ndjson.ts';

/** The formats of imports, by the name that is stored in `imports.format`. */
export const FORMATS = { json: readJson, ndjson: readNdjson } satisfies Record<string, Reader>;

export type FormatName = keyof typeof FORMATS;

export const isFormatName = (name: string): name is FormatName => Object.hasOwn(FORMATS, name);
