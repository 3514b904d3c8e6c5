import { expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { collect, entriesOf } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

it('a CSV file with an endless line or an endless open quotation mark ends with issues', async () => {
  const parser = createCsvParser(testProfile());
  async function* endless(part: string) {
    yield 'Date;Amount;Text;Balance\n';
    for (let i = 0; i < 500; i += 1) yield part;
  }
  const line = await collect(parser(endless('x'.repeat(10_000))));
  expect(line.filter(({ type }) => type === 'issue')).toHaveLength(1);
  const quotes = await collect(parser(endless(`01.02.2026;1,00;"a;\n${'01.02.2026;1,00;a;\n'.repeat(50)}`)));
  expect(quotes.filter(({ type }) => type === 'issue')).toHaveLength(500);
  expect(entriesOf(quotes)).toHaveLength(500 * 50);
});
