import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { maxCharacters } from '../../src/platform/validation.ts';

const AtMostThree = v.pipe(v.string(), ...maxCharacters(3));

describe('a limit of characters', () => {
  it.each([
    ['', true],
    ['abc', true],
    ['abcd', false],
    ['\u{1F642}\u{1F642}\u{1F642}', true],
    ['\u{1F642}\u{1F642}ab', false],
    ['\u{1F642}abc', false],
    ['\ud83d\ud83d\ud83d', true],
    ['\ud83d\ud83d\ud83d\ud83d', false],
    ['a'.repeat(1_000_000), false],
  ])('counts code points, as MySQL does: %j', (text, isAccepted) => {
    expect(v.safeParse(AtMostThree, text).success).toBe(isAccepted);
  });
});
