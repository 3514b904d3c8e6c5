import { test } from 'vitest';
import { createReceive, TRAPS } from './traps.ts';

test.each(TRAPS)('%s', (_, check) => check(createReceive()));
