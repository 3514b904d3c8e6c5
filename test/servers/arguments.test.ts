import { expect, test } from 'vitest';
import { parseCommand } from './arguments.ts';

test.each([
  ['mysql-9', { names: ['mysql-9'], node: null, rest: [] }],
  [
    'mysql-9 --node 24 test/listing --reporter=json',
    { names: ['mysql-9'], node: '24', rest: ['test/listing', '--reporter=json'] },
  ],
  ['--node 22 mariadb-11.8 valkey-9', { names: ['mariadb-11.8', 'valkey-9'], node: '22', rest: [] }],
  ['--node 22 -t redis-8 redis-8', { names: [], node: '22', rest: ['-t', 'redis-8', 'redis-8'] }],
])('a server test command line is parsed: %s', (line, command) => {
  expect(parseCommand(line.split(' '))).toEqual(command);
});

test.each([
  ['', 'Name at least one of mysql-9, mariadb-11.8, redis-8, valkey-9'],
  ['mysql-8 test/listing', 'Name at least one of'],
  ['mysql-9 mariadb-11.8', 'Only one of mysql-9 and mariadb-11.8'],
  ['mysql-9 --node', '--node takes a major version'],
  ['mysql-9 --node latest', '--node takes a major version'],
])('the server test command line "%s" is refused', (line, message) => {
  expect(() => parseCommand(line.split(' ').filter(Boolean))).toThrow(message);
});
