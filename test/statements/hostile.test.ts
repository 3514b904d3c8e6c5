import { describe, expect, it } from 'vitest';
import { createStatementFormats, type StatementFormat } from '../../packages/statements/src/formats.ts';
import { readBuiltInProfiles } from '../../packages/statements/src/parse-profile.ts';
import type { StatementEvent } from '../../packages/statements/src/statement.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { FORMATS } from './format-table.ts';
import { countOf, readEvents } from './statement-events.ts';

const formats = createStatementFormats(readBuiltInProfiles(), READ_SETTINGS);

const FILLS = [
  ...' \t\n/,;"\'<&>:?-09Aé',
  ...['\r\n', '/ ', ', ', '":"', '88,', '<A>', '</A>', '<b/>x', ']]>', '<![CDATA[x]]>'],
];

/** A line a little shorter than the limit of the parsers. */
const LINE = 60_000;
const LINES = 5;

async function* inParts(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}

/** The length of the longest value in the events of a file. */
async function measure(text: string, format: StatementFormat): Promise<number> {
  const file = { start: Buffer.from(text.slice(0, 8 * 1024)), bytes: inParts(text) };
  let longest = 0;
  for await (const events of formats.parse(file, format, format === 'csv' ? 'n26' : null)) {
    for (const event of events) {
      for (const value of Object.values(event)) longest = Math.max(longest, String(value).length);
    }
  }
  return longest;
}

describe.each(FORMATS)('a file of $name', ({ name, beginnings, parse, endless }) => {
  it.each(FILLS)('filled with %j is read to its end', async (fill) => {
    const begun = process.cpuUsage();
    for (const beginning of beginnings) {
      const [last = ''] = beginning.split('\n').slice(-1);
      const line = `${fill.repeat(LINE / fill.length)}x\n`;
      expect(await measure(beginning + (line + last).repeat(LINES), name)).toBeLessThan(LINE);
    }
    // Seconds of the processor, because others use it too. If they grew with the square of the length, each of these files would take several.
    expect(process.cpuUsage(begun).user / 1_000_000).toBeLessThan(6);
  });

  it.each(endless?.pieces ?? [])('that repeats %j without a line end is read to its end', async (piece) => {
    for (const beginning of endless?.beginnings ?? []) {
      const events = await readEvents(parse, beginning + piece.repeat(300_000 / piece.length), [1_000]);
      for (const [type, count] of Object.entries(endless?.counts ?? {}))
        expect(countOf(events, type as StatementEvent['type'])).toBe(count);
    }
  });
});
