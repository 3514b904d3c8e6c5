"""Writes src/shared/letter-pairs.ts: how often letters follow each other, by language.

Needs wordfreq, whose lists of words with frequencies come from Wikipedia, subtitles, news, books and the web:

    pip install wordfreq && python3 letter-pairs.py > ../src/shared/letter-pairs.ts
"""

import collections
import json
import math

import wordfreq

LANGUAGES = 'en de fr es pt it nl sv da fi is tr pl cs sk hu sh sl ro ru uk bg mk el lt lv'.split()
CYRILLIC = {'ru', 'uk', 'bg', 'mk'}
WORDS = 30_000
# A letter that is rarer than this in its language is left out.
RAREST_LETTER = 2e-5
# Frequent words count less than they occur, because texts of banks consist of names and nouns.
TEMPER = 0.7


def is_of_script(letter: str, language: str) -> bool:
    code = ord(letter)
    if language in CYRILLIC:
        return 0x400 <= code < 0x530
    return 0x370 <= code < 0x400 if language == 'el' else code < 0x250


def pairs_of(language: str) -> collections.Counter:
    kind = 'best' if language in wordfreq.available_languages('large') else 'small'
    frequencies = wordfreq.get_frequency_dict(language, wordlist=kind)
    counts = collections.Counter()
    for word, frequency in sorted(frequencies.items(), key=lambda it: -it[1])[:WORDS]:
        # Code pages have the Romanian letters with a cedilla.
        word = word.lower().replace('ș', 'ş').replace('ț', 'ţ').replace('i̇', 'i')
        if all(letter.isalpha() for letter in word):
            text = f'_{word}_'
            for first, second in zip(text, text[1:]):
                counts[first + second] += frequency**TEMPER
    return counts


def table_of(language: str) -> tuple[str, str]:
    counts = pairs_of(language)
    letters = collections.Counter()
    for pair, count in counts.items():
        letters[pair[1]] += count
    total = sum(letters.values())
    common = (it for it, count in letters.items() if it != '_' and count / total > RAREST_LETTER)
    alphabet = '_' + ''.join(sorted(it for it in common if is_of_script(it, language)))
    digits = ''
    for first in alphabet:
        after = sum(counts[first + second] for second in alphabet)
        for second in alphabet:
            count = counts[first + second]
            digits += str(min(9, round(-math.log(count / after)))) if count > 0 else '9'
    return alphabet, digits


print('/* Made by tools/letter-pairs.py. Do not edit. */')
print()
print('/**')
print(' * How often letters follow each other, by language. `letters` are the letters of the language, in lower case, and "_" for the beginning or')
print(' * the end of a word. `digits` has, for each of them and each that may follow, the negative natural logarithm of the probability, rounded;')
print(' * 9: nearly never. Source: the word frequencies of wordfreq (https://github.com/rspeer/wordfreq, CC BY-SA 4.0).')
print(' */')
print('export const LETTER_PAIRS: Readonly<Record<string, { letters: string; digits: string }>> = {')
for it in LANGUAGES:
    alphabet, digits = table_of(it)
    print(f"  {it}: {{\n    letters: {json.dumps(alphabet, ensure_ascii=False)},\n    digits:\n      '{digits}',\n  }},")
print('};')
