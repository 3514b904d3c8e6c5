import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import * as v from 'valibot';
import { invalid, Problem } from '../http/problem.ts';
import { documented } from '../validation.ts';

/** The body of a form (RFC 7578), as browsers and `curl -F` send it. */
export const MULTIPART_TYPE = 'multipart/form-data';

/** The body, for the document. */
export const MultipartForm = v.strictObject({
  file: v.pipe(
    v.string(),
    v.description('A statement file. Parameters are in the query string.'),
    documented({ contentMediaType: 'application/octet-stream' }),
  ),
});

/** The field that holds the file. */
const FIELD = 'file';

/**
 * Yields the file in a form as it arrives.
 * @throws {Problem} 400 when the form is broken or cut off; 422 when it has anything else than one file in the field `file`. That may
 * be found out after the last byte of the file, so nothing may be accepted before the end.
 */
export async function* readMultipartFile(
  body: AsyncGenerator<Uint8Array>,
  contentType: string,
): AsyncGenerator<Uint8Array> {
  const form = openForm(contentType);
  const feeding = feed(body, form);
  feeding.catch(() => {});
  try {
    const file = await Promise.race([form.file, feeding]);
    // Any other part is a fault already.
    if (file === null) throw malformed();
    feeding.catch((error) => file.destroy(error));
    yield* file as AsyncIterable<Uint8Array>;
    await feeding;
  } catch (error) {
    throw form.fault() ?? error;
  } finally {
    // Not awaited: the client may never send more.
    body.return(undefined).catch(() => {});
  }
}

interface Form {
  parser: BusboyInstance;
  /** Its content has begun. Pending if there is no such field. */
  file: Promise<Readable>;
  /** What is wrong with the form, as far as it has been read. */
  fault(): Problem | null;
}

function openForm(contentType: string): Form {
  const parser = createParser(contentType);
  let fault: Problem | null = null;
  const refuse = () => {
    fault ??= notOneFile();
  };
  parser.on('filesLimit', refuse);
  parser.on('fieldsLimit', refuse);
  parser.on('error', () => {
    fault ??= malformed();
  });
  const file = new Promise<Readable>((resolve) => {
    parser.on('file', (name, content) => {
      // It is known as the fault already.
      content.on('error', () => {});
      if (name === FIELD) return resolve(content);
      refuse();
      content.resume();
    });
  });
  return { parser, file, fault: () => fault };
}

/** @throws {Problem} 400 when the content type names no boundary. */
function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 0, headerPairs: 20 },
      isPartAFile: (name, _type, fileName) => name === FIELD || fileName !== undefined,
    });
  } catch {
    throw malformed();
  }
}

/** Gives the parser the whole body, as fast as the file is read. @throws {Problem} when the form has a fault. */
async function feed(body: AsyncIterable<Uint8Array>, { parser, fault }: Form): Promise<null> {
  const requireFaultless = () => {
    const found = fault();
    if (found !== null) throw found;
  };
  for await (const part of body) {
    const hasRoom = parser.write(part);
    requireFaultless();
    if (!hasRoom) await once(parser, 'drain');
  }
  const finished = once(parser, 'finish');
  parser.end();
  await finished;
  requireFaultless();
  return null;
}

const malformed = () =>
  new Problem(
    'malformed-multipart',
    'The body is not complete multipart/form-data with a part, or its Content-Type names another boundary.',
  );

const notOneFile = () =>
  invalid([
    {
      path: FIELD,
      message: 'must be the only field of the form, and hold one file: send parameters in the query string',
    },
  ]);
