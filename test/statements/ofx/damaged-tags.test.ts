import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { countOf, entriesOf } from '../statement-events.ts';
import { read } from './statement.ts';

it('an OFX file whose tags are damaged loses no transaction without an issue', async () => {
  const tag = /<\/?STMTTRN>|<TRNAMT>|<DTPOSTED>/g;
  const file = readFileSync(new URL('../../samples/ofx/checking.ofx', import.meta.url), 'utf8')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace('<CHECKNUM>000319', '<CHECKNUM>000319</STMTTRN>');
  const whole = (await read(file)).filter(({ type }) => type === 'entry' || type === 'issue').length;
  for (const match of file.matchAll(tag)) {
    const damaged = `${file.slice(0, match.index + 2)}#${file.slice(match.index + 3)}`;
    const events = await read(damaged);
    const lost = entriesOf(await read(file)).length - entriesOf(events).length;
    // One issue is in the file itself.
    if (lost > 0) expect(countOf(events, 'issue'), match[0]).toBeGreaterThan(1);
    expect(entriesOf(events).length + countOf(events, 'issue'), match[0]).toBeGreaterThanOrEqual(whole - 1);
  }
});
