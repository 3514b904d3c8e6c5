import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode } from '../../packages/statements/src/shared/decode.ts';

async function* inParts(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const size = Math.max(1, sizes[i % Math.max(1, sizes.length)] ?? bytes.length);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function decoded(
  bytes: Uint8Array,
  { sizes = [] as number[], encoding = undefined as string | undefined } = {},
) {
  let text = '';
  for await (const part of decode(inParts(bytes, sizes), { encoding })) text += part;
  return text;
}

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
const TURKISH = Buffer.from('C\u00d6DEME \u00dd\u00de', 'latin1');

describe('an invalid byte', () => {
  const broken = (text: string) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([bytes.subarray(0, -4), Buffer.from([0xc3]), bytes.subarray(-4)]);
  };

  it('in a UTF-8 file becomes a replacement character, and the file stays UTF-8', async () => {
    const file = Buffer.concat([broken('Überweisung an Müller'), Buffer.from(' für Öl')]);
    for (const sizes of [[], [1], [7]])
      expect(await decoded(file, { sizes })).toBe('Überweisung an Mü\ufffdller für Öl');
  });

  it('before the first non-ASCII letter does not decide the encoding', async () => {
    const file = Buffer.concat([Buffer.from([0xff]), Buffer.from('abc '.repeat(20_000)), Buffer.from('Öl')]);
    expect((await decoded(file, { sizes: [5_000] })).endsWith('abc Öl')).toBe(true);
  });

  it('in a Windows-1254 file does not change the encoding, even when later bytes would be UTF-8', async () => {
    const file = Buffer.concat([TURKISH, Buffer.from('Ö'), TURKISH, Buffer.from('x'.repeat(300_000))]);
    expect((await decoded(file, { sizes: [1_000] })).slice(0, 20)).toBe('CÖDEME İŞÃ–CÖDEME İŞ');
  });
});

describe('the encoding of a file', () => {
  it.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from(':86:Ödeme İŞ €'), ':86:Ödeme İŞ €'],
    ['UTF-8 with a byte order mark', Buffer.from('\uFEFFÖdeme'), 'Ödeme'],
    ['UTF-16LE with a byte order mark', Buffer.from('\uFEFFÖdeme İŞ', 'utf16le'), 'Ödeme İŞ'],
    ['UTF-16BE with a byte order mark', utf16be('\uFEFFÖdeme İŞ'), 'Ödeme İŞ'],
    ['UTF-16LE without a byte order mark', Buffer.from('Date;Amount;Ödeme', 'utf16le'), 'Date;Amount;Ödeme'],
    ['UTF-16BE without a byte order mark', utf16be('Date;Amount;Ödeme'), 'Date;Amount;Ödeme'],
    ['Windows-1254, as banks in Turkey write', TURKISH, 'CÖDEME İŞ'],
    [
      'Windows-1252, which has the same letters for most others',
      Buffer.from([0x47, 0xfc, 0x6e, 0x20, 0x80]),
      'Gün €',
    ],
    [
      'what the XML declaration says',
      Buffer.concat([
        Buffer.from('<?xml version="1.0" encoding="ISO-8859-2"?><a>'),
        Buffer.from([0xb1]),
        Buffer.from('</a>'),
      ]),
      '<?xml version="1.0" encoding="ISO-8859-2"?><a>ą</a>',
    ],
    [
      'UTF-8 where the XML declaration names an encoding that does not exist',
      Buffer.from('<?xml version="1.0" encoding="klingon"?><a>ö</a>'),
      '<?xml version="1.0" encoding="klingon"?><a>ö</a>',
    ],
    ['an empty file', Buffer.alloc(0), ''],
  ])('is recognised: %s', async (_, bytes, text) => {
    expect(await decoded(bytes)).toBe(text);
    expect(await decoded(bytes, { sizes: [1] })).toBe(text);
  });

  it('is Windows-1254 when the first non-ASCII byte is not UTF-8', async () => {
    const start = 'x'.repeat(10_000);
    const bytes = Buffer.concat([Buffer.from(start), Buffer.from([0xde, 0x20, 0xdd])]);
    expect(await decoded(bytes, { sizes: [4_096] })).toBe(`${start}Ş İ`);
  });

  it('is the given one when the bytes are not UTF-8', async () => {
    expect(await decoded(Buffer.from([0xdd, 0xde]), { encoding: 'iso-8859-1' })).toBe('ÝÞ');
    expect(await decoded(Buffer.from('Ödeme'), { encoding: 'iso-8859-1' })).toBe('Ödeme');
    expect(await decoded(Buffer.from([0xde]), { encoding: 'klingon' })).toBe('Ş');
  });

  it('leads to the same text for any split of the bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.constantFrom('utf8', 'utf16le') as fc.Arbitrary<BufferEncoding>,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (text, encoding, sizes) => {
          const bytes = Buffer.from(`\uFEFFstatement ${text}`, encoding);
          expect(await decoded(bytes, { sizes })).toBe(`statement ${text}`.toWellFormed());
        },
      ),
    );
  });
});
