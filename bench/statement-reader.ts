import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { SaxesParser } from 'saxes';
import { createStatementFormats } from '../packages/statements/src/formats.ts';
import { readStatementFile } from '../src/intake/importer/read-file.ts';
import { loadProfiles } from '../src/intake/load-profiles.ts';

/**
 * Reads one file in a process of its own. The parent sends { path, ways }, and gets for each way how long it took. Each format has
 * a process, as if the importer read nothing else.
 */
export interface ReadTask {
  path: string;
  ways: readonly Way[];
}

export interface ReadTime {
  seconds: number;
  /** Movements, lines or tags. */
  count: number;
}

/** As many bytes as a part of a staged import has. */
const PART_BYTES = 1024 * 1024;

const formats = createStatementFormats(loadProfiles(undefined));

const open = (path: string) => createReadStream(path, { highWaterMark: PART_BYTES });

async function* decode(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const part of open(path)) yield decoder.decode(part as Buffer, { stream: true });
}

const WAYS = {
  /** As the importer does: recognised, decoded, parsed, mapped to movements. */
  async rows(path: string): Promise<number> {
    let count = 0;
    const findAccount = async () => ({ id: '1', currency: 'TRY' });
    const options = { reader: formats, owner: '1', format: 'auto', profile: null, findAccount } as const;
    for await (const rows of readStatementFile(open(path), options)) {
      for (const row of rows) {
        if ('movement' in row) count += 1;
        else if ('issue' in row || 'warning' in row) throw new Error(`${path}: ${JSON.stringify(row)}`);
      }
    }
    return count;
  },
  /** Node's own reader of lines. */
  async readline(path: string): Promise<number> {
    let count = 0;
    for await (const line of createInterface({
      input: createReadStream(path),
      crlfDelay: Number.POSITIVE_INFINITY,
    }))
      count += line === '' ? 0 : 1;
    return count;
  },
  /** saxes alone, with handlers that only count. */
  async saxes(path: string): Promise<number> {
    let count = 0;
    const parser = new SaxesParser({ xmlns: false, position: false });
    for (const event of ['opentag', 'closetag', 'text'] as const)
      parser.on(event, () => {
        count += 1;
      });
    for await (const text of decode(path)) parser.write(text);
    parser.close();
    return count;
  },
};

export type Way = keyof typeof WAYS;

process.on('message', async ({ path, ways }: ReadTask) => {
  const times: ReadTime[] = [];
  for (const way of ways) {
    const started = performance.now();
    const count = await WAYS[way](path);
    times.push({ seconds: (performance.now() - started) / 1_000, count });
  }
  process.send?.(times);
});
