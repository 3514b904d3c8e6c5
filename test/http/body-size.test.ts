import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { countRows } from '../support/rows.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const KIB = 1024;
const PART = Buffer.alloc(64 * KIB, ' ');
const spaces = (bytes: number): Buffer[] => Array.from({ length: bytes / PART.length }, () => PART);

const LIMITS = [
  ['/v1/webhooks', 256 * KIB, '256 KiB'],
  ['/v1/accounts', 256 * KIB, '256 KiB'],
  ['/v1/imports', 32 * 1024 * KIB, '32 MiB'],
] as const;

describe('a request body', () => {
  it.each(LIMITS)('of %s is refused beyond %i bytes by its Content-Length', async (path, limit, size) => {
    const { api_key: key } = await service.customer();
    const before = await countRows(service);
    const body = [...spaces(limit), Buffer.from(' ')];
    const answer = await send(service.url + path, {
      method: 'POST',
      headers: {
        Authentication: key,
        'Content-Type': 'application/json',
        'Content-Length': String(limit + 1),
      },
      body,
    });
    expectProblem(answer, 413);
    expect(answer.body.detail).toBe(`The body must be at most ${size}.`);
    expect(await countRows(service)).toEqual(before);
  });

  it.each(LIMITS)('of %s is refused beyond %i bytes when it comes in chunks', async (path, limit) => {
    const { api_key: key } = await service.customer();
    const before = await countRows(service);
    const answer = await send(service.url + path, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': 'application/json' },
      body: [...spaces(limit), Buffer.from(' ')],
    });
    expectProblem(answer, 413);
    expect(await countRows(service)).toEqual(before);
  });

  it.each(LIMITS)('of %s may have %i bytes', async (path, limit) => {
    const { api_key: key } = await service.customer();
    const answer = await send(service.url + path, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': 'application/json' },
      body: [Buffer.from('{}'), ...spaces(limit - PART.length), Buffer.alloc(PART.length - 2, ' ')],
    });
    expectProblem(answer, 422);
  });

  it('of a gigabyte is refused before any of it is sent', async () => {
    const { api_key: key } = await service.customer();
    const answer = await send(`${service.url}/v1/imports`, {
      method: 'POST',
      headers: {
        Authentication: key,
        'Content-Type': 'application/x-ndjson',
        'Content-Length': String(1024 * 1024 * KIB + 1),
      },
      body: ['{}\n'],
    });
    expectProblem(answer, 413);
  });
});
