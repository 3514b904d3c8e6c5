import { expect } from 'vitest';
import type { ProblemName } from '../../src/platform/problem.ts';
import type { Answer } from './service.ts';

/**
 * Checks that an answer is an error in the format of all errors (RFC 9457).
 * @param name of its type. Default: any.
 * @returns the paths of its validation issues, in order.
 */
export function expectProblem(
  { status, headers, body }: Answer,
  expected: number,
  name?: ProblemName,
): string[] {
  expect({ status, body }).toMatchObject({ status: expected, body: { status: expected } });
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body).toEqual({
    type: name === undefined ? expect.stringMatching(/^\/problems\/[a-z-]+$/) : `/problems/${name}`,
    title: expect.stringMatching(/./),
    status: expected,
    detail: expect.stringMatching(/./),
    message: body.detail,
    request_id: headers.get('x-request-id'),
    ...(expected === 422 ? { errors: expect.any(Array) } : {}),
  });
  const errors: { path: string; message: string }[] = body.errors ?? [];
  for (const error of errors) {
    expect(error).toEqual({ path: expect.any(String), message: expect.stringMatching(/./) });
  }
  return errors.map(({ path }) => path);
}

/** For comparing errors: without the request id, which differs between equal answers. */
export const withoutRequestId = ({ status, body: { request_id: _, ...body } }: Answer) => ({ status, body });
