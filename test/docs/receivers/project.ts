import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killGroup, killWithProcess } from '../../../src/servers/embedded/command.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { until } from '../../support/until.ts';
import { applyChanges, FORM_PAGE, readChanges, readFiles } from './page.ts';

/** Inside node_modules, so that programs find this project's packages, and neither git nor a linter sees them. */
const PROJECTS = fileURLToPath(new URL('../../../node_modules/.cache/receiving/', import.meta.url));

/** Downloading dependencies and compiling take most of it. Milliseconds. */
const TIMEOUT = 600_000;

/** A folder with the files of a page. */
export interface Project {
  directory: string;
  /** Adds a file that the page does not show. */
  write(name: string, text: string): Promise<void>;
  /** Runs a program to its end. @throws when it fails, with what it wrote. */
  run(program: string, args: readonly string[], env?: Environment): Promise<string>;
  /** Starts a server, waits until it accepts connections. */
  start(program: string, args: readonly string[], env?: Environment): Promise<Started>;
  /** Starts a program that is no server. */
  launch(program: string, args: readonly string[], env?: Environment): Launched;
  /** Stops what was started, and deletes the folder. */
  remove(): Promise<void>;
}

export type Environment = Readonly<Record<string, string>>;

export interface Started {
  /** `http://127.0.0.1:4000` */
  origin: string;
  /** Its output to stdout and stderr so far. */
  readonly said: string;
}

export interface Launched {
  /** Its output to stdout and stderr so far. */
  readonly said: string;
  /** Kills it, and the processes that it has started. */
  stop(): Promise<void>;
  /** @throws when the program has ended. */
  failure(): undefined;
}

/** Writes the files of a page into a new folder; with `form`, after the changes for form encoding. */
export async function createProject(page: string, { form }: { form: boolean }): Promise<Project> {
  await mkdir(PROJECTS, { recursive: true });
  const directory = await mkdtemp(join(PROJECTS, `${page.replace(/\W/g, '-')}-`));
  const stops: (() => Promise<void>)[] = [];
  const project: Project = {
    directory,
    async write(name, text) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    async run(program, args, env) {
      const running = spawnIn(directory, program, args, env);
      const code = await running.exit;
      if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${running.said}`);
      return running.said;
    },
    async start(program, args, env) {
      const port = await reservePort();
      const running = spawnIn(directory, program, args, {
        PORT: String(port),
        RECEIVER_PORT: String(port),
        ...env,
      });
      stops.push(running.stop);
      await until(`${program} listens on ${port}`, () => running.failure() ?? accepts(port), TIMEOUT);
      return {
        origin: `http://127.0.0.1:${port}`,
        get said() {
          return running.said;
        },
      };
    },
    launch(program, args, env) {
      const running = spawnIn(directory, program, args, env);
      stops.push(running.stop);
      return running;
    },
    async remove() {
      await Promise.all(stops.map((stop) => stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
  const files =
    form && page !== FORM_PAGE ? applyChanges(readFiles(page), readChanges(page)) : readFiles(page);
  for (const [name, text] of files) await project.write(name, text);
  return project;
}

/** A program gets only the part of this process's environment that package managers need. */
function spawnIn(directory: string, program: string, args: readonly string[], env: Environment = {}) {
  const child = spawn(program, args, {
    cwd: directory,
    env: { ...process.env, NODE_ENV: '', NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const group = child.pid ?? 0;
  const release = group === 0 ? () => {} : killWithProcess(group);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const exit = once(child, 'close').then(
    ([code]) => code as number | null,
    (error: Error) => {
      said += error.message;
      return -1;
    },
  );
  return {
    exit,
    get said() {
      return said;
    },
    /** @throws when the program has ended. */
    failure(): undefined {
      if (child.exitCode !== null || group === 0) throw new Error(`${program} ended early: ${said}`);
      return undefined;
    },
    async stop() {
      killGroup(group);
      await exit;
      release();
    },
  };
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
