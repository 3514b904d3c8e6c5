/** Encodings of one byte that TextDecoder does not know: DOS code pages. Their first 128 characters are those of ASCII. */
const CODE_PAGES: Readonly<Record<string, string>> = {
  ibm850:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0',
  ibm852:
    'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0',
  ibm857:
    'ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ºªÊËÈ\ufffdÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\ufffd×ÚÛÙìÿ¯´\u00ad±\ufffd¾¶§÷¸°¨·¹³²■\u00a0',
};

/** Other names of these code pages. */
const LABEL = /^(?:ibm|cp|x-cp|dos|pc)?-?(850|852|857)$/i;

const tableOf = (label: string): string | undefined => CODE_PAGES[`ibm${LABEL.exec(label.trim())?.[1]}`];

/** What a decoder of an encoding does. */
export interface ByteDecoder {
  /** Decodes bytes. A character of several bytes may be completed by the next ones. */
  decode(bytes: Uint8Array): string;
  /** @returns what is left at the end of the file */
  end(): string;
}

/** The encodings in which banks write text, by the names of the WHATWG Encoding standard and of IANA. */
export const ENCODINGS = [
  ...[
    'windows-1250',
    'windows-1251',
    'windows-1252',
    'windows-1253',
    'windows-1254',
    'windows-1255',
    'windows-1256',
  ],
  ...['windows-1257', 'windows-1258', 'iso-8859-2', 'iso-8859-5', 'iso-8859-7', 'iso-8859-8', 'iso-8859-15'],
  ...[
    'ibm850',
    'ibm852',
    'ibm857',
    'ibm866',
    'koi8-r',
    'koi8-u',
    'macintosh',
    'gb18030',
    'big5',
    'shift_jis',
    'euc-jp',
    'euc-kr',
  ],
] as const;

/** Whether a label names an encoding: one of the WHATWG Encoding standard, or ibm850, ibm852 or ibm857. */
export function isEncoding(label: string): boolean {
  if (tableOf(label) !== undefined) return true;
  try {
    new TextDecoder(label);
    return true;
  } catch {
    return false;
  }
}

/** @throws {RangeError} for a label that is no encoding. */
export function createByteDecoder(label: string): ByteDecoder {
  const table = tableOf(label);
  if (table !== undefined) return { decode: (bytes) => decodeTable(bytes, table), end: () => '' };
  const decoder = new TextDecoder(label);
  return { decode: (bytes) => decoder.decode(bytes, { stream: true }), end: () => decoder.decode() };
}

const utf16 = new TextDecoder('utf-16le');

/** A character for each byte, with the byte as its code. */
export const toCharacters = (bytes: Uint8Array): string => utf16.decode(Uint16Array.from(bytes));

function decodeTable(bytes: Uint8Array, table: string): string {
  const codes = new Uint16Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    codes[at] = byte < 0x80 ? byte : table.charCodeAt(byte - 0x80);
  }
  return utf16.decode(codes);
}
