import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import type { Profile } from '../../packages/statements/src/profile.ts';
import type { FileEvent, Recognition } from '../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createThreadedReader, type FileReader } from '../../src/intake/parser-threads.ts';
import { mt940 } from './statement-files.ts';

const AUTO: Recognition = { format: 'auto', profile: null };

const ENTRIES = 1_000;
const FILE = mt940(Array.from({ length: ENTRIES }, (_, at) => ({ day: 1 + (at % 28), amount: 100 + at })));

/** A file in small parts. */
async function* partsOf(text: string | Buffer): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 4_000) yield bytes.subarray(at, at + 4_000);
}

async function readAll(reader: Pick<FileReader, 'read'>, text: string | Buffer, recognition = AUTO) {
  const files: { name: string | null; format: string; events: unknown[] }[] = [];
  for await (const it of reader.read(partsOf(text), recognition, randomUUID()) as AsyncIterable<FileEvent>) {
    if ('format' in it) files.push({ name: it.file, format: it.format, events: [] });
    else if ('events' in it) files.at(-1)?.events.push(...it.events);
  }
  return files;
}

/** Returns when a thread has started. It may need longer than a short deadline for that. */
async function startThread(reader: Pick<FileReader, 'read'>): Promise<void> {
  while ((await readAll(reader, FILE).catch(() => [])).length === 0);
}

const inProcess = createStatementFormats([], READ_SETTINGS);
const threaded = createThreadedReader([]);

it('a parser thread reads the same events as the process itself, for one file at a time and for several at once', async () => {
  const expected = await readAll(inProcess, FILE);
  expect(expected[0]?.events.length).toBeGreaterThan(ENTRIES);
  expect(await readAll(threaded, FILE)).toEqual(expected);
  const sent = [FILE, gzipSync(FILE), FILE, FILE];
  expect(await Promise.all(sent.map((it) => readAll(threaded, it)))).toEqual(sent.map(() => expected));
});

it('a file that cannot be read fails with the same error in a parser thread as in the process itself', async () => {
  for (const [text, recognition] of [
    ['', AUTO],
    ['no statement', AUTO],
    [':20:broken', { format: 'mt940', profile: null }],
    ['Datum;Betrag\n', { format: 'csv', profile: 'none' }],
  ] as const) {
    const [own, other] = await Promise.allSettled([
      readAll(inProcess, text, recognition),
      readAll(threaded, text, recognition),
    ]);
    expect(own?.status).toBe('rejected');
    expect(other).toEqual(own);
  }
});

it('a file that fills the memory of its parser thread fails, and other files are still read', async () => {
  const small = createThreadedReader([], { memoryLimit: 4 });
  const [failed, read] = await Promise.allSettled([readAll(small, FILE), readAll(threaded, FILE)]);
  expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(UnreadableFileError) });
  expect(String((failed as PromiseRejectedResult).reason)).toMatch(/more memory/);
  expect(read.status).toBe('fulfilled');
});

it('a file that keeps its parser thread busy for too long fails, and other files are still read', async () => {
  const impatient = createThreadedReader([], { deadline: 1 });
  const [failed, read] = await Promise.allSettled([readAll(impatient, FILE), readAll(threaded, FILE)]);
  expect(String((failed as PromiseRejectedResult).reason)).toMatch(/takes too long/);
  expect(read.status).toBe('fulfilled');
});

it('a file that keeps its parser thread busy after its first events fails, and the thread is not used again', async () => {
  const formats = createThreadedReader([], { deadline: 3_000 });
  // Lines of an endless text, for which the thread returns no events.
  async function* silent() {
    yield Buffer.from(FILE);
    yield Buffer.alloc(1_000_000_000, 'A LINE\r\n');
  }
  const began: unknown[] = [];
  // On a busy machine, the first events may also take longer than the deadline. Then there are none, and the next thread is tried.
  while (began.length === 0) {
    await startThread(formats);
    const reading = (async () => {
      for await (const it of formats.read(silent(), AUTO, '1')) began.push(it);
    })();
    await expect(reading).rejects.toThrow('takes too long');
  }
  await startThread(formats);
});

it('a file at which the parser has a defect cannot be read, the defect is told once, and other files are still read', async () => {
  const defects: Error[] = [];
  // A profile without variants cannot come from loadProfiles, and is unexpected.
  const broken = [{ name: 'broken' }] as unknown as Profile[];
  const reader = createThreadedReader(broken, { onDefect: (error) => defects.push(error) });
  const table = 'Date;Amount;Text\n2026-01-01;1,00;a\n2026-01-02;1,00;b\n';
  for (const read of [
    () => readAll(reader, table),
    () => reader.check(partsOf(table), AUTO, '1').then(() => {}),
  ]) {
    defects.length = 0;
    const failed = await read().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(UnreadableFileError);
    expect(String(failed)).toMatch(/^UnreadableFileError: This file cannot be read: /);
    expect(defects).toHaveLength(1);
  }
  expect(await readAll(reader, FILE)).toHaveLength(1);
});

it('the check of a file finds what the process itself would find, and hands on the whole file', async () => {
  for (const [text, recognition] of [
    ['', AUTO],
    ['no statement', AUTO],
    ['%PDF-1.4', AUTO],
    ['Datum;Betrag\n', { format: 'csv', profile: 'none' }],
    [gzipSync('no statement'), AUTO],
  ] as const) {
    const [own, other] = await Promise.allSettled([
      inProcess.check(partsOf(text), recognition),
      threaded.check(partsOf(text), recognition, '1'),
    ]);
    expect(own?.status).toBe('rejected');
    expect(other).toEqual(own);
  }
  for (const file of [FILE, gzipSync(FILE)]) {
    const whole = await threaded.check(partsOf(file), AUTO, '1');
    const parts: Uint8Array[] = [];
    for await (const part of whole) parts.push(part);
    expect(Buffer.concat(parts).equals(Buffer.from(file))).toBe(true);
  }
});

it('the check of a file waits for another of the same customer, and is refused if it waits too long', async () => {
  const reader = createThreadedReader([], { patience: 1 });
  const checks = await Promise.allSettled(
    Array.from({ length: 3 }, () => reader.check(partsOf(FILE), AUTO, '1')),
  );
  const refused = checks.flatMap((it) => (it.status === 'rejected' ? [it.reason] : []));
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(3);
  for (const reason of refused)
    expect(reason).toMatchObject({ problem: 'overloaded', headers: { 'Retry-After': expect.any(String) } });
  const others = await Promise.allSettled(
    ['1', '2'].map((owner) => threaded.check(partsOf(FILE), AUTO, owner)),
  );
  expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});

it('a file that is not read to its end closes its source, and does not block the next file', async () => {
  let isOver = false;
  async function* endless() {
    try {
      for (;;) yield Buffer.from(FILE);
    } finally {
      isOver = true;
    }
  }
  for await (const it of threaded.read(endless(), AUTO, '1')) if ('events' in it) break;
  expect(isOver).toBe(true);
  expect(await readAll(threaded, FILE)).toHaveLength(1);
});

it('a file is still read after the process itself was busy for longer than the deadline of a parser thread', async () => {
  const formats = createThreadedReader([], { deadline: 3_000 });
  await startThread(formats);
  const stall = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
  let parts = 0;
  async function* stalling() {
    for await (const part of partsOf(FILE)) {
      parts += 1;
      // Before the loop's timers, and so before the message that the thread sends meanwhile is read.
      if (parts === 5) setImmediate(stall);
      yield part;
    }
  }
  let entries = 0;
  for await (const it of formats.read(stalling(), AUTO, '1') as AsyncIterable<FileEvent>)
    if ('events' in it) entries += it.events.filter(({ type }) => type === 'entry').length;
  expect(parts).toBeGreaterThan(10);
  expect(entries).toBe(ENTRIES);
});
