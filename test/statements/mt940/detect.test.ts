import { describe, expect, it } from 'vitest';
import { looksLikeMt940, looksLikeMt942 } from '../../../src/statements/mt940/parse.ts';

const MT940 = ':20:X\r\n:25:1\r\n:28C:1/1\r\n:60F:C261101EUR1,00\r\n:62F:C261101EUR1,00\r\n-';
const ENVELOPE = '{1:F01ABCDTRISAXXX0000000000}{2:O9401200261101ABCDTRISAXXX00000000002611011200N}{4:';

describe('MT940 is recognised', () => {
  it.each([
    ['by its balances', MT940],
    ['with line ends of one CR', MT940.replaceAll('\r\n', '\r')],
    ['in an envelope', `${ENVELOPE}\n${MT940}`],
    ['in an envelope on the line of the first field', `${ENVELOPE}${MT940}`],
    ['in an envelope in another code page', `ä4:\n${MT940}`],
    ['behind lines that are not SWIFT’s', `ABNANL2A\n940\nABNANL2A\n${MT940}`],
    ['with a byte order mark', `\uFEFF${MT940}`],
    ['without balances', ':20:X\n:25:1\n:86:text'],
    ['a fragment: an entry', ':61:2611011101CR1,00NTRF'],
    ['a fragment: an entry with blanks', ':61:261101    D1,00NTRF'],
    ['a fragment: a balance', '\n:62M:C020315105000,00'],
    ['cut within the first balance', MT940.slice(0, 45)],
  ])('%s', (_, text) => {
    expect(looksLikeMt940(text)).toBe(true);
    expect(looksLikeMt942(text)).toBe(false);
  });
});

describe('MT942 is recognised', () => {
  it.each([
    ['by its floor limit', ':20:X\n:25:1\n:34F:EUR0,\n:61:261101C1,00NTRF'],
    ['by its time', ':20:X\n:25:1\n:13D:2611021200+0100\n:61:261101C1,00NTRF'],
    ['by its envelope', `${ENVELOPE.replace('O940', 'O942')}\n:20:X\n:25:1`],
  ])('%s', (_, text) => {
    expect(looksLikeMt940(text)).toBe(true);
    expect(looksLikeMt942(text)).toBe(true);
  });
});

describe('other formats are not taken', () => {
  it.each([
    ['nothing', ''],
    ['CSV', 'Date;Text;Amount\n2026-11-01;:20: and :25:;1,00\n'],
    ['CSV with times', '12:20:15,1\n:25:x\n'],
    ['camt', '<?xml version="1.0"?><Document><BkToCstmrStmt><Id>:20:</Id></BkToCstmrStmt></Document>'],
    ['OFX', 'OFXHEADER:100\nDATA:OFXSGML\n<OFX><DTSERVER>20261101\n'],
    ['BAI2', '01,122099999,123456789,261101,1200,1,80,1,2/\n02,031001234,122099999,1,261101,,,2/'],
    ['NDJSON', '{"description":"\\n:20:X\\n:25:1"}\n'],
    [
      'MT103',
      '{1:F01ABCDTRISAXXX0000000000}{2:I103ABCDTRISAXXXN}{4:\n:20:X\n:23B:CRED\n:32A:261101EUR1,00\n-}',
    ],
    ['text', 'Meeting\n:20: minutes'],
  ])('%s', (_, text) => {
    expect(looksLikeMt940(text)).toBe(false);
    expect(looksLikeMt942(text)).toBe(false);
  });
});
