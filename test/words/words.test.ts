import { expect, it } from 'vitest';
import { findRetiredWords } from './words.ts';

const wordsIn = (text: string) => findRetiredWords(text).map(({ word }) => word);

it.each([
  ['Deliveries owed to a webhook', ['owed']],
  ['await drainAll(queue)', ['drain']],
  ['const MAX_LANES = 4;', ['lane']],
  ['A judge settles it', ['judge', 'settle']],
  ["log.warn('MySQL is away')", ['away']],
])('the check of words finds retired words, in identifiers too: %s', (text, expected) => {
  expect(wordsIn(text)).toEqual(expected);
});

it.each([
  ['Ledgerbell'],
  ['Keeps webhooks away from private addresses'],
  ['await Promise.allSettled(calls)'],
  ["socket.on('drain', more)"],
  ["await once(socket, 'drain')"],
])('the check of words leaves other words alone: %s', (text) => {
  expect(wordsIn(text)).toEqual([]);
});

it('the check of words allows an exception only where it stands', () => {
  expect(wordsIn("socket.on('drain', drain)")).toEqual(['drain']);
});

it('the check of words names the line and the word to write', () => {
  expect(findRetiredWords('first\nthe pump')).toEqual([{ line: 2, word: 'pump', instead: 'delivery run' }]);
});
