import { expect, it } from 'vitest';
import { nameServer } from '../../bench/database-server.ts';

it.each([
  { version: '10.11.14-MariaDB-0+deb12u2', name: 'MariaDB 10.11.14' },
  { version: '11.8.3-MariaDB-log', name: 'MariaDB 11.8.3' },
  { version: '9.7.0', name: 'MySQL 9.7.0' },
  { version: '8.0.44-0ubuntu0.24.04.1', name: 'MySQL 8.0.44' },
])('the version $version means the server $name', ({ version, name }) => {
  expect(nameServer(version)).toBe(name);
});
