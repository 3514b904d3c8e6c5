import type { Reader } from './format.ts';
import { readJson } from './json.ts';
import { readNdjson } from './ndjson.ts';

/** Every format an import can come in, by the name that is stored with it. */
export const FORMATS = { json: readJson, ndjson: readNdjson } satisfies Record<string, Reader>;

export type FormatName = keyof typeof FORMATS;

export const isFormatName = (name: string): name is FormatName => Object.hasOwn(FORMATS, name);
