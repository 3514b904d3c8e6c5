import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { Hono } from 'hono';
import { notFound } from '../platform/problem.ts';
import type { ApiEnv } from './app.ts';

/** Files of this installation that pages load: style sheets, scripts and pictures. */

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
};

/** The folder of the installation: that with public/, beside which src/ and dist/ are. */
export const INSTALLATION = findInstallation(import.meta.dirname);

/** Searches upwards, because this file is deeper in dist/ than in src/. */
function findInstallation(from: string): string {
  if (existsSync(join(from, 'public/ops/console.css'))) return from;
  if (dirname(from) === from) throw new Error('The folder public is missing from this installation.');
  return findInstallation(dirname(from));
}

/**
 * Serves files by their names, and no others.
 * @param files their paths.
 * @param cacheControl of the answers. What is behind a password must be `private`.
 */
export const serveFiles = (files: ReadonlyMap<string, string>, cacheControl: string): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/:file', async (c) => {
    const path = files.get(c.req.param('file'));
    if (path === undefined) throw notFound('file');
    return c.body(await readFile(path), 200, {
      'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
      'Cache-Control': cacheControl,
    });
  });
