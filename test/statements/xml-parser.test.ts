import { setImmediate as nextPass } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createXmlParser } from '../../packages/statements/src/shared/xml-parser.ts';

setFlagsFromString('--expose-gc');
setFlagsFromString('--allow-natives-syntax');
const collectGarbage: () => void = runInNewContext('gc');
const isHashTable = new Function('object', 'return !%HasFastProperties(object)') as (
  object: object,
) => boolean;

const ignore = () => {};
const handlers = { opentag: ignore, closetag: ignore, text: ignore, doctype: ignore, error: ignore };

/** V8 drops the layout of objects a few garbage collections after the last such object is gone. */
async function forgetLayouts(): Promise<void> {
  for (let times = 0; times < 5; times += 1) {
    collectGarbage();
    await nextPass();
  }
}

function readFile(): { isHashTable: boolean } {
  const parser = createXmlParser(handlers);
  parser.write('<a><b c="d">e</b></a>').close();
  return { isHashTable: isHashTable(parser) };
}

it('the XML parser object never becomes a hash table, however many parsers were created before', async () => {
  for (let file = 1; file <= 10; file += 1) {
    expect({ file, ...readFile() }).toEqual({ file, isHashTable: false });
    await forgetLayouts();
  }
});
