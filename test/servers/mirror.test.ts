import { expect, test } from 'vitest';
import { isDebianRelease, parseSources } from './mirror.ts';

test('parsing apt sources finds the addresses of both formats, each once, and ignores comments', () => {
  const sources = `
# http://snapshot.example/archive
Types: deb
# http://snapshot.example/debian
URIs: http://mirror.example/debian/ https://second.example/debian
 http://third.example/debian
Suites: bookworm bookworm-updates
Signed-By: /usr/share/keyrings/debian.gpg

Types: deb
uris: http://mirror.example/debian
Suites: sid

deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/a/key.gpg] https://options.example/apt stable main
  #deb http://commented.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb file:/srv/mirror bookworm main
`;
  expect(parseSources(sources)).toEqual([
    'http://mirror.example/debian',
    'https://second.example/debian',
    'http://third.example/debian',
    'http://old.example/debian',
    'https://options.example/apt',
  ]);
});

test.each([
  ['Origin: Debian\nLabel: Debian\nSuite: unstable\nCodename: sid\n', 'sid', true],
  ['Origin: Debian\nSuite: stable\nCodename: trixie\n', 'trixie', true],
  ['Origin: Debian\nSuite: stable\nCodename: trixie\n', 'sid', false],
  ['Origin: Third Party\nSuite: sid\nCodename: sid\n', 'sid', false],
  ['Origin: Debian Backports\nSuite: sid\n', 'sid', false],
  ['<html>Not found</html>', 'sid', false],
])('a Debian release file is recognised or refused correctly (case %#)', (text, suite, expected) => {
  expect(isDebianRelease(text, suite)).toBe(expected);
});
