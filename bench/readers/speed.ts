import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { renderFile } from '../statement-files.ts';
import type { AnyReader, BankFormat } from './reader.ts';

/** How fast readers read a generated file: from its bytes in memory to whatever the package returns. */

export interface SpeedTask {
  format: BankFormat;
  /** Which of the readers of the format. */
  index: number;
  path: string;
  folder: string;
}

export type SpeedAnswer = { seconds: number; entries: number } | { error: string; isLate: boolean };

/** MB/s, or the word that says why there is none. */
export type Speed = { megabytes: number } | { none: string };

const ROUNDS = 5;
const LIMIT_SECONDS = 60;
const MEGABYTES = 10;
const PER_DAY = 500;
/** Enough to tell how long an entry is. */
const SAMPLE_ENTRIES = 1_000;

/** The readers take turns, each in a process of its own. @returns the speeds in their order. */
export async function measureSpeeds(
  format: BankFormat,
  readers: readonly AnyReader[],
  folder: string,
): Promise<Speed[]> {
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-bench-readers-'));
  const path = join(directory, format);
  const sampleBytes = Buffer.byteLength(
    [...renderFile(format, { entries: SAMPLE_ENTRIES, perDay: PER_DAY })].join(''),
  );
  const entries = Math.round((MEGABYTES * 1e6 * SAMPLE_ENTRIES) / sampleBytes);
  await writeFile(path, Readable.from(renderFile(format, { entries, perDay: PER_DAY })));
  const megabytes = (await stat(path)).size / 1e6;
  const racers = readers.map((_, index) => ({
    task: { format, index, path, folder } satisfies SpeedTask,
    child: fork(join(import.meta.dirname, 'speed-process.ts')),
    seconds: [] as number[],
    none: null as string | null,
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const racer of racers) {
      if (racer.none !== null) continue;
      const answer = await ask(racer.child, racer.task);
      if ('error' in answer) {
        racer.none = answer.isLate ? `more than ${LIMIT_SECONDS} s` : 'fails on it';
        console.log(`${format}, ${readers[racer.task.index]?.name} fails on the large file: ${answer.error}`);
      } else if (answer.entries !== entries) racer.none = `${answer.entries} of ${entries} entries`;
      else racer.seconds.push(answer.seconds);
    }
  }
  for (const { child } of racers) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
  return racers.map(({ seconds, none }) =>
    none === null ? { megabytes: megabytes / medianOf(seconds) } : { none },
  );
}

/** Kills the process if it takes too long, and does not wait for one that has ended. */
async function ask(child: ChildProcess, task: SpeedTask): Promise<SpeedAnswer> {
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_SECONDS * 1_000);
  const started = performance.now();
  const ended = new AbortController();
  const { signal } = ended;
  try {
    const answer = once(child, 'message', { signal }).then(([message]) => message as SpeedAnswer);
    const exit = once(child, 'exit', { signal }).then((): SpeedAnswer => {
      const isLate = performance.now() - started >= LIMIT_SECONDS * 1_000;
      return { error: 'its process has ended', isLate };
    });
    for (const it of [answer, exit]) it.catch(() => {});
    child.send(task);
    return await Promise.race([answer, exit]);
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
