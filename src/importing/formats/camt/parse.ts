import type { StatementEvent, StatementParser } from '../statement.ts';
import { createDocument } from './document.ts';
import { createStatements } from './message-statements.ts';
import { createXmlReader } from './xml.ts';

/** Characters read at a time, so that the events of a large part do not pile up. */
const AT_A_TIME = 64 * 1024;

/**
 * Parses camt.052, camt.053 and camt.054 messages of any version. Elements are found by their local names, whatever their
 * namespace. A file that is not read to its end yields an issue with the reason; the entries before are kept.
 */
export const parseCamt: StatementParser = async function* (text) {
  let events: StatementEvent[] = [];
  const statements = createStatements((event) => events.push(event));
  const xml = createXmlReader(createDocument(statements));
  const take = (): StatementEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };

  reading: for await (const part of text) {
    for (let start = 0; start < part.length; start += AT_A_TIME) {
      xml.write(part.slice(start, start + AT_A_TIME));
      if (events.length > 0) yield take();
      if (xml.stop !== null) break reading;
    }
  }
  xml.end();
  statements.finish(xml.stop, xml.root);
  yield take();
};
