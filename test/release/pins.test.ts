import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

/**
 * Whatever the workflows and the Dockerfile run of others is named by what it contains, a digest or a commit. A tag or a branch can be changed by
 * whoever gets hold of it, and the release job may publish packages and images.
 */

const ROOT = join(import.meta.dirname, '../..');
const WORKFLOWS = join(ROOT, '.github/workflows');
const IMAGE = /^[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}$/;
const ACTION = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/;

type Row = Record<string, unknown>;

interface Job {
  uses?: string;
  container?: string | { image: string };
  services?: Record<string, { image: string }>;
  strategy?: { matrix?: { include?: Row[] } & Record<string, unknown[]> };
  steps?: { uses?: string; run?: string }[];
}

/** The rows of a job's matrix; one row without values where there is none. */
function rowsOf({ strategy }: Job): Row[] {
  const { include = [], ...lists } = strategy?.matrix ?? {};
  const names = Object.keys(lists);
  if (names.length === 0) return include.length === 0 ? [{}] : include;
  const product = names.reduce<Row[]>(
    (rows, name) => rows.flatMap((row) => (lists[name] ?? []).map((value) => ({ ...row, [name]: value }))),
    [{}],
  );
  return [...product, ...include];
}

/** The image of a row: GitHub's expressions, as far as the workflows use them for images. */
const imageOf = (image: string, row: Row): string =>
  image
    .replace(/\$\{\{\s*matrix\.(\w+)\s*\}\}/g, (_all, key) => String(row[key]))
    .replace(
      /\$\{\{\s*fromJSON\('([^']*)'\)\[(?:format\('\{0\}', )?matrix\.(\w+)\)?\]\s*\}\}/g,
      (_all, json, key) => String(JSON.parse(json)[String(row[key])]),
    );

/** Images that a script runs. Where a command runs one that it does not name, the command itself. */
function imagesOfScript(script: string): string[] {
  const commands = script.replaceAll('\\\n', ' ').split('\n');
  return commands.flatMap((command) => {
    if (/\bdocker (container )?(run|create|pull)\b|\bpodman (run|create|pull)\b/.test(command))
      return command.split(/\s+/).find((word) => IMAGE.test(word)) ?? command.trim();
    // Without `image`, it runs moby/buildkit with a tag, and with privileges.
    if (/\bdocker buildx create\b/.test(command))
      return /\bimage=([^\s,"']+)/.exec(command)?.[1] ?? command.trim();
    // Without `generator`, it runs docker/buildkit-syft-scanner with a tag.
    if (/\bdocker\b.*--sbom\b|\btype=sbom\b/.test(command))
      return /\bgenerator=([^\s,"']+)/.exec(command)?.[1] ?? command.trim();
    return [];
  });
}

/** What a workflow runs without a digest or a commit. */
function unpinnedIn(workflow: string): string[] {
  const { jobs } = parse(workflow) as { jobs: Record<string, Job> };
  return Object.values(jobs).flatMap((job) => {
    const steps = job.steps ?? [];
    const uses = [job, ...steps].flatMap((it) => it.uses ?? []).filter((it) => !it.startsWith('./'));
    const container = typeof job.container === 'string' ? job.container : job.container?.image;
    const images = [container ?? [], ...Object.values(job.services ?? {}).map(({ image }) => image)].flat();
    return [
      ...uses.filter((it) => !(it.startsWith('docker://') ? IMAGE.test(it.slice(9)) : ACTION.test(it))),
      ...new Set(rowsOf(job).flatMap((row) => images.map((image) => imageOf(image, row)))),
      ...steps.flatMap(({ run = '' }) => imagesOfScript(run)),
    ].filter((it) => !IMAGE.test(it));
  });
}

interface Stage {
  name: string;
  image: string;
  platform: string;
  instructions: string[];
}

/** The stages of a Dockerfile, with the defaults of the ARGs before them. */
function stagesOf(dockerfile: string): Stage[] {
  const stages: Stage[] = [];
  const values = new Map<string, string>();
  const lines = dockerfile
    .replace(/^\s*#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  for (const line of lines) {
    const [instruction = '', ...words] = line.trim().split(/\s+/);
    if (instruction === 'FROM') {
      const rest = words.filter((word) => !word.startsWith('--'));
      const [image = '', , name = ''] = rest;
      stages.push({
        name,
        image: image.replace(/\$\{(\w+)\}/g, (_all, key) => values.get(key) ?? ''),
        platform: words.find((word) => word.startsWith('--platform='))?.slice(11) ?? '',
        instructions: [],
      });
    } else if (instruction === 'ARG' && stages.length === 0) {
      const [key = '', value = ''] = (words[0] ?? '').split(/=(.*)/);
      values.set(key, value);
    } else if (instruction !== '') stages.at(-1)?.instructions.push(line.trim());
  }
  return stages;
}

/** Images that a Dockerfile takes without a digest. */
function unpinnedInDockerfile(dockerfile: string): string[] {
  const stages = stagesOf(dockerfile);
  const syntax = /^# *syntax *= *(\S+)/im.exec(dockerfile)?.[1];
  const taken = stages.flatMap(({ image, instructions }) => [
    image,
    ...instructions.flatMap((it) =>
      [...it.matchAll(/--(?:from=|mount=\S*\bfrom=)([^\s,]+)/g)].map(([, from = '']) => from),
    ),
  ]);
  const own = new Set(stages.map(({ name }) => name));
  return [...(syntax === undefined ? [] : [syntax]), ...taken].filter(
    (it) => !own.has(it) && !IMAGE.test(it),
  );
}

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

describe('the workflows', () => {
  for (const name of readdirSync(WORKFLOWS))
    it(`name every action and every image of ${name} by a commit or a digest`, () => {
      expect(unpinnedIn(readFileSync(join(WORKFLOWS, name), 'utf8'))).toEqual([]);
    });

  it('emulate no processor and start no container with privileges where a release is published', () => {
    const { jobs } = parse(readFileSync(join(WORKFLOWS, 'release.yml'), 'utf8')) as {
      jobs: Record<string, Job>;
    };
    expect(JSON.stringify(jobs)).not.toMatch(/privileged|binfmt|qemu/i);
  });
});

describe('the Dockerfile', () => {
  it('names every image that it takes by a digest', () => {
    expect(stagesOf(dockerfile)).toHaveLength(2);
    expect(unpinnedInDockerfile(dockerfile)).toEqual([]);
  });

  it('runs programs only in stages of the platform that builds, so that no other one is emulated', () => {
    const foreign = stagesOf(dockerfile).filter(({ platform }) => platform !== '$BUILDPLATFORM');
    expect(foreign).toHaveLength(1);
    expect(
      foreign.flatMap(({ instructions }) => instructions).filter((it) => /^(ONBUILD +)?RUN\b/.test(it)),
    ).toEqual([]);
  });
});

it('docker-compose.yml names a version of each image of others', () => {
  const { services } = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    services: Record<string, { image: string }>;
  };
  // Ours is built from the clone.
  const images = Object.values(services).map(({ image }) => image);
  const others = images.filter((image) => image !== 'ledgerbell:latest');
  expect(others.length).toBeGreaterThan(3);
  expect(others.filter((image) => !/:v?\d[\w.-]*(@sha256:[0-9a-f]{64})?$/.test(image))).toEqual([]);
});

describe('the check for pins', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const commit = 'b'.repeat(40);
  const job = (content: unknown) => unpinnedIn(JSON.stringify({ jobs: { job: content } }));
  const run = (script: string) => job({ steps: [{ run: script }] });

  it('finds each kind of action and image of a workflow without a digest', () => {
    const json = `{"7": "${digest}"}`;
    const lookUp = `redis:\${{ matrix.redis }}@\${{ fromJSON('${json}')[matrix.redis] }}`;
    const found = {
      step: job({ steps: [{ uses: 'actions/checkout@v4' }, { uses: `actions/checkout@${commit}` }] }),
      workflow: job({ uses: 'other/repository/.github/workflows/x.yml@main' }),
      docker: job({ steps: [{ uses: 'docker://alpine:3' }, { uses: `docker://alpine:3@${digest}` }] }),
      container: job({ container: 'node:24' }),
      containerImage: job({ container: { image: 'node:24' } }),
      service: job({ services: { a: { image: 'redis:7' }, b: { image: `redis:7@${digest}` } } }),
      matrix: job({
        container: lookUp,
        strategy: { matrix: { redis: [7], include: [{ redis: 8 }] } },
      }),
      expression: job({ container: `\${{ inputs.image }}` }),
      run: run('docker run --privileged --rm tonistiigi/binfmt --install arm64'),
      continued: run('docker run \\\n  alpine:3'),
      builder: run('docker buildx create --use'),
      sbom: run('docker buildx build --sbom true .'),
      own: job({ uses: './.github/workflows/ci.yml' }),
      pinned: run(
        `docker run alpine@${digest}\ndocker buildx create --driver-opt image=moby/buildkit@${digest}\ndocker buildx build --attest type=sbom,generator=a/b@${digest} .`,
      ),
    };
    expect(found).toEqual({
      step: ['actions/checkout@v4'],
      workflow: ['other/repository/.github/workflows/x.yml@main'],
      docker: ['docker://alpine:3'],
      container: ['node:24'],
      containerImage: ['node:24'],
      service: ['redis:7'],
      matrix: ['redis:8@undefined'],
      expression: [`\${{ inputs.image }}`],
      run: ['docker run --privileged --rm tonistiigi/binfmt --install arm64'],
      continued: ['docker run    alpine:3'],
      builder: ['docker buildx create --use'],
      sbom: ['docker buildx build --sbom true .'],
      own: [],
      pinned: [],
    });
  });

  it('finds each kind of image of a Dockerfile without a digest', () => {
    const text = [
      '# syntax=docker/dockerfile:1',
      'ARG BASE=node:24',
      `FROM \${BASE} AS build`,
      'COPY --from=busybox:1 /bin /bin',
      'RUN --mount=type=bind,from=alpine:3 true',
      `FROM debian@${digest}`,
      'COPY --from=build /a /b',
    ].join('\n');
    expect(unpinnedInDockerfile(text)).toEqual(['docker/dockerfile:1', 'node:24', 'busybox:1', 'alpine:3']);
  });
});
