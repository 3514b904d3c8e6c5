import { test } from 'vitest';
import { createReceive, TRAPS } from './traps.ts';

test.each(TRAPS)('the identity rule handles trap %s', (_, check) => check(createReceive()));
