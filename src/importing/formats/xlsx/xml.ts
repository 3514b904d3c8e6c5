import { createXmlParser, localName } from '../xml-parser.ts';
import { XlsxError } from './xlsx-error.ts';

/** A text of a cell has at most 32,767 characters in Excel. The parser holds a text or a tag until it is complete. */
const MAX_PIECE_LENGTH = 256 * 1024;

export interface Handlers {
  /** @param name without its namespace prefix. */
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Reads XML part by part, and calls the handlers. Yields after each part, so that what the handlers collected can be taken away.
 * @throws {XlsxError} when it is not well-formed, has a document type, or a text or tag is longer than 256 KiB.
 */
export async function* readXml(bytes: AsyncIterable<Uint8Array>, handlers: Handlers): AsyncGenerator<void> {
  const decoder = new TextDecoder();
  let pieceLength = 0;
  const parser = createXmlParser({
    opentag({ name, attributes }) {
      pieceLength = 0;
      handlers.open?.(localName(name), attributes);
    },
    closetag({ name }) {
      pieceLength = 0;
      handlers.close?.(localName(name));
    },
    text(text) {
      pieceLength = 0;
      handlers.text?.(text);
    },
    doctype() {
      throw new XlsxError('the file has an XML document type, which is not allowed');
    },
    error() {
      throw new XlsxError('the file has broken XML');
    },
  });
  for await (const part of bytes) {
    pieceLength += part.length;
    parser.write(decoder.decode(part, { stream: true }));
    if (pieceLength > MAX_PIECE_LENGTH) throw new XlsxError('a text or a tag is longer than 256 KiB');
    yield;
  }
  parser.write(decoder.decode()).close();
}

/** Reads XML to its end. */
export async function readAllXml(bytes: AsyncIterable<Uint8Array>, handlers: Handlers): Promise<void> {
  for await (const _ of readXml(bytes, handlers));
}
