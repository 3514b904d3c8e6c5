import { describe, expect, it } from 'vitest';
import { renderFile, TEXT_FORMATS } from '../../bench/statement-files.ts';
import { loadProfiles } from '../../src/imports/load-profiles.ts';
import { createStatementFormats } from '../../src/statements/formats.ts';
import type { Entry, StatementEvent } from '../../src/statements/statement.ts';

/** Files that are cut within their last two entries, at every byte. */

const formats = createStatementFormats(loadProfiles(undefined));

async function read(bytes: Uint8Array, format: (typeof TEXT_FORMATS)[number]): Promise<StatementEvent[]> {
  const events: StatementEvent[] = [];
  const parts = (async function* () {
    yield bytes;
  })();
  for await (const it of formats.read(parts, { format, profile: format === 'csv' ? 'garanti-bbva' : null }))
    if ('events' in it) events.push(...it.events);
  return events;
}

const entriesOf = (events: readonly StatementEvent[]): Entry[] =>
  events.flatMap((event) => (event.type === 'entry' ? [event.entry] : []));

describe.each(TEXT_FORMATS)('a file in %s that is cut within its last two entries', (format) => {
  it('has the entries before, and says that it is cut where one is another', async () => {
    const file = Buffer.from([...renderFile(format, { entries: 6, perDay: 3 })].join(''));
    const before = Buffer.from([...renderFile(format, { entries: 4, perDay: 3 })].join(''));
    const whole = entriesOf(await read(file, format));
    expect(whole).toHaveLength(6);
    let start = 0;
    while (file[start] === before[start]) start += 1;
    const silent: string[] = [];
    for (let end = start; end < file.length; end += 1) {
      const events = await read(file.subarray(0, end), format);
      const found = entriesOf(events);
      const isReported = events.some(({ type }) => type === 'issue' || type === 'warning');
      const differs = found.findIndex(
        (entry, at) => JSON.stringify(show(entry)) !== JSON.stringify(show(whole[at])),
      );
      if (differs !== -1 && !isReported) silent.push(`${file.subarray(end - 30, end)}|`);
      expect(found.length).toBeLessThanOrEqual(6);
      expect(differs === -1 || differs >= 3, `${end}`).toBe(true);
    }
    expect(silent).toEqual([]);
  });
});

const show = (entry: Entry | undefined) =>
  JSON.parse(
    JSON.stringify(entry ?? null, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  );
