import { expect, it } from 'vitest';
import { createTurns } from '../../src/delivering/turns.ts';

/** Work that ends when it is told to. */
function tasks() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    work: (name: string) => () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    },
    async end(name: string) {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

it('lets what is not known to be well wait for one another, in order', async () => {
  const { begun, work, end } = tasks();
  const turns = createTurns(2);
  for (const id of ['1', '2', '3', '4']) void turns.take(id, work(id));
  expect(begun).toEqual(['1', '2']);
  await end('2');
  expect(begun).toEqual(['1', '2', '3']);
  await end('1');
  expect(begun).toEqual(['1', '2', '3', '4']);
});

it('lets a webhook go first whose last POST arrived, until one does not', async () => {
  const { begun, work, end } = tasks();
  const turns = createTurns(1);
  turns.ended('well', true);
  void turns.take('hanging', work('hanging'));
  void turns.take('new', work('new'));
  void turns.take('well', work('well'));
  expect(begun).toEqual(['hanging', 'well']);
  turns.ended('well', false);
  void turns.take('well', work('well again'));
  expect(begun).toEqual(['hanging', 'well']);
  await end('hanging');
  await end('new');
  expect(begun).toEqual(['hanging', 'well', 'new', 'well again']);
});

it('gives the place free when the work fails', async () => {
  const turns = createTurns(1);
  await expect(turns.take('1', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await turns.take('2', async () => 'done')).toBe('done');
});
