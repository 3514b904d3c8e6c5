import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { ensurePackage } from '../support/installed-program.ts';

const EXECUTABLE = '/usr/bin/chromium';

/** Requests that a browser makes of itself (updates, QUIC) are off: a request that is seen is one that a page made. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const INSTALL_TIMEOUT = 10 * 60_000;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on a page in light and dark, and calls serious or critical. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const findings: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found: string[] = await page.evaluate(`axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map((it) => it.html).join(' | ')))`);
    findings.push(...found.map((it) => `${colorScheme}: ${it}`));
  }
  return findings;
}

/** A page, and what it did that a person would not see. */
export interface Visit {
  page: Page;
  /** Errors on the console, among them refusals by the content security policy, and exceptions of scripts. */
  faults: string[];
  /** Every address that was asked for. */
  requests: string[];
}

/** The requests to anything but the service itself. What the page holds in itself (data:) is none. */
export const foreignRequests = ({ page, requests }: Visit): string[] =>
  requests.filter((url) => !url.startsWith(`${new URL(page.url()).origin}/`) && !url.startsWith('data:'));

export interface Browser {
  /** Opens a page and waits until nothing more is being loaded. @param options.live the page never stops loading. */
  visit(url: string, options?: { dark?: boolean; live?: boolean }): Promise<Visit>;
}

/** A real Chromium with an empty profile for this test file. Installed with apt-get where it is missing. */
export function useBrowser(): Browser {
  let profile: string;
  let context: BrowserContext;

  beforeAll(async () => {
    await ensurePackage('chromium', EXECUTABLE, 'to look at the pages');
    profile = await mkdtemp(join(tmpdir(), 'ledgerbell-browser-'));
    context = await chromium.launchPersistentContext(profile, {
      executablePath: EXECUTABLE,
      args: ARGUMENTS,
      viewport: { width: 1280, height: 900 },
    });
  }, INSTALL_TIMEOUT);

  afterAll(async () => {
    await context?.close();
    if (profile !== undefined) await rm(profile, { recursive: true, force: true });
  });

  return {
    async visit(url, { dark = false, live = false } = {}) {
      const page = await context.newPage();
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
      const faults: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(url, { waitUntil: live ? 'load' : 'networkidle' });
      return { page, faults, requests };
    },
  };
}
