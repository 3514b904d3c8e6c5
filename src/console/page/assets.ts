import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Hono } from 'hono';
import type { ApiEnv } from '../../http/app.ts';
import { notFound } from '../../platform/problem.ts';

/** Where the files of the console are served. */
export const ASSETS_PATH = '/ops/assets';

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** The files of the console and of uPlot. They are served from here, so that the pages work without internet access. */
const FILES: ReadonlyMap<string, { folder: 'own' | 'uplot'; type: string }> = new Map([
  ['console.css', { folder: 'own', type: CSS }],
  ['now.js', { folder: 'own', type: SCRIPT }],
  ['uPlot.iife.min.js', { folder: 'uplot', type: SCRIPT }],
  ['uPlot.min.css', { folder: 'uplot', type: CSS }],
]);

/** Serves the style sheet and the scripts of the console. */
export function consoleAssets(): Hono<ApiEnv> {
  const folders = {
    own: findPublic(import.meta.dirname),
    uplot: join(dirname(createRequire(import.meta.url).resolve('uplot/package.json')), 'dist'),
  };
  return new Hono<ApiEnv>().get('/:file', async (c) => {
    const name = c.req.param('file');
    const file = FILES.get(name);
    if (file === undefined) throw notFound('file');
    return c.body(await readFile(join(folders[file.folder], name)), 200, {
      'Content-Type': file.type,
      'Cache-Control': 'private, max-age=300',
    });
  });
}

/** Searches upwards, because public/ is beside src/ and dist/, but this file is deeper in dist/ than in src/. */
function findPublic(from: string): string {
  const here = join(from, 'public', 'ops');
  if (existsSync(join(here, 'console.css'))) return here;
  if (dirname(from) === from) throw new Error('The folder public is missing from this installation.');
  return findPublic(dirname(from));
}
