import fc from 'fast-check';

/** The same number written differently, and numbers that wrap around to it in 64 bits. For a delivery's id, its second number. */
export const respelled = (id: fc.Arbitrary<string>) =>
  fc.tuple(id, fc.nat(12)).map(([whole, way]) => {
    const [, before = '', text = ''] = /^(\d+-)?(\d+)$/.exec(whole) ?? [];
    return before + respell(text, way);
  });

const respell = (text: string, way: number): string =>
  [
    `0${text}`,
    `+${text}`,
    `-${text}`,
    `${text}.0`,
    `${text}e0`,
    `0x${BigInt(text).toString(16)}`,
    ` ${text}`,
    `${text}\n`,
    `${text}\u0000`,
    text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    text.replace(/\d/g, (digit) => String.fromCodePoint(0x0660 + Number(digit))),
    String(BigInt(text) + 2n ** 64n),
    String(BigInt(text) + 10n ** 30n),
  ][way] ?? '';
