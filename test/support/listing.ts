import { expect } from 'vitest';
import type { TestService } from './service.ts';

export interface Listed {
  id: string;
  account_id: string;
  unique_id: string;
  date_issue: string;
  date_readed: string;
  account: { id: number };
}

/** Reads a page, which must exist. @returns its rows, and the target of its Link. */
export async function readPage(
  service: TestService,
  key: string,
  path: string,
): Promise<{ rows: Listed[]; next: string | null }> {
  const { status, body, headers } = await service.call('GET', path, { key });
  expect({ status, body }).toMatchObject({ status: 200 });
  expect(Object.keys(body)).toEqual(['transactions']);
  const link = headers.get('link');
  const [, target] = /^<([^>]+)>; rel="next"$/.exec(link ?? '') ?? [];
  expect(target === undefined).toBe(link === null);
  return {
    // As the database has them: a test says that the API shows integers.
    rows: body.transactions.map((row: { id: number; account_id: number }) => ({
      ...row,
      id: String(row.id),
      account_id: String(row.account_id),
    })),
    next: target === undefined ? null : target.replace(service.url, ''),
  };
}

/** Follows Link from a page to the last one. @returns all rows, in the order in which they were listed. */
export async function readAll(service: TestService, key: string, path: string): Promise<Listed[]> {
  const all: Listed[] = [];
  for (let next: string | null = path; next !== null; ) {
    const page = await readPage(service, key, next);
    all.push(...page.rows);
    next = page.next;
  }
  return all;
}

export const uniqueIds = (rows: readonly Listed[]): string[] => rows.map(({ unique_id }) => unique_id);
