import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorsOf } from '../../guides/render.ts';

/**
 * Follows the links of an installed package's documents: those to its own files, and those to the pages of a service.
 * @param folder of the package.
 * @param docsUrl with which it was packed.
 * @returns what is broken. Other hosts are not asked.
 */
export async function brokenLinksOf(folder: string, docsUrl: string): Promise<string[]> {
  const broken: string[] = [];
  const documents = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.includes('node_modules'),
  );
  for (const path of documents) {
    const text = readFileSync(join(folder, path), 'utf8');
    const links = text.replace(/^```.*?^```/gms, '').matchAll(/\]\(([^)\s]+)\)/g);
    for (const [, link = ''] of links)
      if (!(await leadsSomewhere(folder, path, link, docsUrl))) broken.push(`${path}: ${link}`);
  }
  return broken;
}

async function leadsSomewhere(folder: string, from: string, link: string, docsUrl: string): Promise<boolean> {
  const [path = '', anchor] = link.split('#');
  if (/^[a-z]+:/.test(link)) {
    if (!link.startsWith(docsUrl)) return link.startsWith('https://');
    const page = await fetch(path);
    return page.ok && (anchor === undefined || (await page.text()).includes(` id="${anchor}"`));
  }
  const target = join(folder, path === '' ? from : join(dirname(from), path));
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}
