import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../../packages/statements/src/formats.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { entriesOf, warningsOf } from '../statement-events.ts';
import { closing, fileOf, movement } from './records.ts';

const formats = createStatementFormats([]);
const TEXT = 'LIQUIDACIÓN DE NÓMINA, ESPAÑA';
/** The letters of TEXT in the code page 850 of DOS. */
const DOS: Record<string, number> = { Ó: 0xe0, Ñ: 0xa5 };

const ENCODINGS: Record<string, (text: string) => Buffer> = {
  'ISO-8859-1': (text) => Buffer.from(text, 'latin1'),
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a byte order mark': (text) => Buffer.from(`\uFEFF${text}`),
  'the code page 850 of DOS': (text) =>
    Buffer.from([...text].map((letter) => DOS[letter] ?? letter.charCodeAt(0))),
};

describe('the letters of Norma 43', () => {
  it.each(Object.keys(ENCODINGS))('may be in %s', async (encoding) => {
    const file = fileOf(movement(), `2301${TEXT}`, closing([0, 0], [1, 500], 100_500));
    const bytes = ENCODINGS[encoding]?.(file) ?? Buffer.alloc(0);
    expect(formats.detect(bytes)).toBe('norma43');
    const events: StatementEvent[] = [];
    const parts = (async function* () {
      yield bytes;
    })();
    for await (const it of formats.read(parts, { format: 'auto', profile: null }))
      if ('events' in it) events.push(...it.events);
    expect(entriesOf(events).map(({ description }) => description)).toEqual([TEXT]);
    expect(warningsOf(events)).toEqual([]);
  });
});
