import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { startServiceProcess } from '../support/process.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { reservePort } from '../support/reserved-port.ts';
import { until } from '../support/until.ts';
import { installSdk } from './receivers/sdk.ts';
import { isOpen } from './snippets.ts';

const ROOT = join(import.meta.dirname, '../..');
const { url: databaseUrl } = useDatabase();
const redisUrl = useRedisDatabase();

interface Step {
  /** null: what the receiver prints. */
  command: string | null;
  output: string[];
}

/** The commands of the section, each with the output that the page shows. */
function readSteps(): Step[] {
  const [, section = ''] =
    /^## Five minutes\n([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
  const blocks = section.match(/(?:^ {4}.*\n(?:\n(?= {4}))?)+/gm) ?? [];
  return blocks.flatMap((block) => {
    const steps: Step[] = [];
    const lines = block.replaceAll(/^ {4}/gm, '').trimEnd().split('\n');
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at] ?? '';
      if (!line.startsWith('$ ')) {
        if (steps.length === 0) steps.push({ command: null, output: [] });
        steps.at(-1)?.output.push(line);
        continue;
      }
      let command = line.slice(2);
      while (isOpen(command)) {
        at += 1;
        command += `\n${lines[at] ?? ''}`;
      }
      steps.push({ command, output: [] });
    }
    return steps;
  });
}

/** `…` stands for any text, after a part of a word for the rest of the word, and on a line of its own for any lines. */
const toPattern = (output: readonly string[]): RegExp =>
  new RegExp(
    `^${output
      .map((line) =>
        line === '…'
          ? '[\\s\\S]*'
          : line
              .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
              .replaceAll(/\w+…/g, '[^\\s"]+')
              .replaceAll(/\s*…\s*/g, '.*')
              .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\\\+03/g, '[-\\d :+]+'),
      )
      .join('\n')}$`,
  );

const hasCurl = spawnSync('curl', ['--version']).error === undefined;

it.runIf(hasCurl)(
  'the commands of the README, from the first customer to the listing, print what it shows',
  async () => {
    const cache = join(ROOT, 'node_modules/.cache');
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, 'five-minutes-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const environment = {
      DATA_DIR: newDataDir(),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      SECRET_KEY: randomBytes(32).toString('base64'),
    };
    const service = startServiceProcess(environment, ['--processes', '1']);
    onTestFinished(() => service.end('SIGTERM').then(() => {}));
    const { host } = new URL(await service.url());
    const port = await reservePort();
    await installSdk(folder);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');

    let [key, secret, received] = ['', '', ''];
    const here = (command: string) =>
      command
        .replaceAll('localhost:3000', host)
        .replaceAll('127.0.0.1:4000', `127.0.0.1:${port}`)
        .replaceAll('listen(4000', `listen(${port}`)
        .replaceAll('/tmp/', `${folder}/`)
        .replaceAll('npm run --silent cli --', `${process.execPath} ${compiled('src/cli/main.ts')}`);
    const env = () => ({
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
      ...{ LEDGERBELL_URL: `http://${host}`, ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8', KEY: key },
    });

    let ran = 0;
    for (const { command, output } of readSteps()) {
      if (command === null) {
        await until(`the receiver prints ${output[0]}: ${received}`, () =>
          output.every((line) => received.includes(`${line}\n`)),
        );
        continue;
      }
      if (/npm start$|^export KEY|npm run --silent build/.test(command)) continue;
      ran += 1;
      if (command.includes('node receiver.js')) {
        const receiver = spawn(process.execPath, ['--import', 'tsx', 'receiver.js'], {
          cwd: folder,
          env: { ...env(), WEBHOOK_SECRET: secret },
        });
        onTestFinished(() => void receiver.kill());
        receiver.stdout.setEncoding('utf8').on('data', (text: string) => {
          received += text;
        });
        continue;
      }
      const { stdout } = await promisify(execFile)('bash', ['-c', here(command)], {
        cwd: folder,
        env: env(),
      });
      const said = stdout.replaceAll('\r', '').trimEnd();
      expect(said).toMatch(toPattern(output));
      key ||= /API key +(\S+)/.exec(said)?.[1] ?? '';
      secret ||= /"secret":"([^"]+)"/.exec(said)?.[1] ?? '';
    }
    expect(ran).toBeGreaterThan(10);
  },
);
