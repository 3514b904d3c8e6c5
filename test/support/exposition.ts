import type { TestService } from './service.ts';

/** The samples of a process's `/metrics`. */
export interface Exposition {
  text: string;
  /** The value of each sample, by its name and labels as they stand in the text. */
  samples: ReadonlyMap<string, number>;
  /** The type of each metric, by its name. */
  types: ReadonlyMap<string, string>;
}

/** Reads `/metrics` of the test's service. */
export async function scrape(service: Pick<TestService, 'callOps'>): Promise<Exposition> {
  const { status, headers, body } = await service.callOps('GET', '/metrics');
  const type = headers.get('content-type');
  if (status !== 200 || !type?.startsWith('text/plain; version=0.0.4')) {
    throw new Error(`/metrics answered ${status} ${type}: ${body}`);
  }
  return parseExposition(body);
}

export function parseExposition(text: string): Exposition {
  const lines = text.split('\n');
  const samples = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    });
  const types = lines.flatMap((line) => {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === '' ? [] : [[name, type] as const];
  });
  return { text, samples: new Map(samples), types: new Map(types) };
}
