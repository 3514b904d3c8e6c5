import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { useDatabase } from '../support/database.ts';
import { findGoModule, findGoProgram } from '../support/go-program.ts';
import { INSTALL_TIMEOUT, runProgram } from '../support/installed-program.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { findPythonPackage } from '../support/python-package.ts';
import { useServiceProcesses } from '../support/service-processes.ts';

/**
 * The chart is rendered with the values in the folder `chart`, and what comes out is compared with the schemas of Kubernetes, KEDA and the
 * Prometheus Operator. The program is run with the commands and environments of the pods, but nothing here runs in a cluster.
 */

const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/ledgerbell');
const VALUES = join(import.meta.dirname, 'chart');
const LEFT_OUT = 'The Helm chart is not checked';

// biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds, which their schemas check.
type Manifest = any;

const scratch = mkdtempSync(join(tmpdir(), 'ledgerbell-chart-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const { url } = useDatabase({ migrated: false });
const processes = useServiceProcesses();
const SECRET = {
  DATABASE_URL: url,
  REDIS_URL: inject('redisUrl'),
  SECRET_KEY: randomBytes(32).toString('base64'),
  ADMIN_USER: 'ops',
  ADMIN_PASSWORD: 'a long password',
};

let helm: string | null = null;
beforeAll(async () => {
  helm = await findGoProgram('helm', LEFT_OUT);
}, INSTALL_TIMEOUT);

const runHelm = (...args: string[]) => runProgram(helm ?? 'helm', args);

const template = (chart: string, ...args: string[]) =>
  runHelm('template', 'test', chart, '--namespace', 'books', ...args);

/** All manifests of a chart. Helm logs that it follows the link to the alerts. */
function render(chart: string, ...args: string[]): Manifest[] {
  const { code, output } = template(chart, ...args);
  expect(code, output).toBe(0);
  return parseAllDocuments(output.replaceAll(/^level=INFO .*\n/gm, ''))
    .map((document) => document.toJS())
    .filter((manifest) => manifest !== null);
}

const podOf = (manifest: Manifest) => manifest.spec?.template?.spec;
const isCustom = ({ apiVersion }: Manifest) => /^(keda\.sh|monitoring\.coreos\.com)\//.test(apiVersion);

/** Lists the rules of the restricted Pod Security Standard that a pod breaks. */
function breaches(pod: Manifest): string[] {
  const own = pod.securityContext ?? {};
  const rules: [string, boolean][] = [
    ['host namespaces', !(pod.hostNetwork || pod.hostPID || pod.hostIPC)],
    ['runAsNonRoot', own.runAsNonRoot === true],
    ['runAsUser', own.runAsUser !== 0],
    ['seccompProfile', ['RuntimeDefault', 'Localhost'].includes(own.seccompProfile?.type)],
    ['sysctls', own.sysctls === undefined],
  ];
  for (const { name } of pod.volumes) rules.push([`volume ${name}`, pod.volumes.every(isAllowedVolume)]);
  for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
    const { securityContext: context = {}, ports = [] } = container;
    rules.push(
      ['privileged', context.privileged !== true],
      ['allowPrivilegeEscalation', context.allowPrivilegeEscalation === false],
      ['drop', context.capabilities?.drop?.includes('ALL') === true],
      ['add', (context.capabilities?.add ?? []).every((name: string) => name === 'NET_BIND_SERVICE')],
      ['user of the container', context.runAsNonRoot !== false && context.runAsUser !== 0],
      ['seccompProfile of the container', context.seccompProfile === undefined],
      ['host ports', ports.every(({ hostPort }: Manifest) => hostPort === undefined)],
      // Not of the standard, but of this chart.
      ['readOnlyRootFilesystem', context.readOnlyRootFilesystem === true],
    );
  }
  return rules.filter(([, isKept]) => !isKept).map(([rule]) => rule);
}

const ALLOWED_VOLUMES = ['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim'];
const isAllowedVolume = ({ name: _, ...sources }: Manifest) =>
  Object.keys(sources).every((source) => [...ALLOWED_VOLUMES, 'projected', 'secret'].includes(source));

it('the chart has the version of the service', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))).toMatchObject({
    version,
    appVersion: version,
  });
});

describe.each(readdirSync(VALUES))('the chart with the values of %s', (file) => {
  let manifests: Manifest[] = [];
  const values = ['--values', join(VALUES, file)];
  beforeAll(() => {
    if (helm !== null) manifests = render(CHART, ...values);
  });

  it('passes helm lint', ({ skip }) => {
    if (helm === null) skip();
    const { code, output } = runHelm('lint', '--strict', CHART, ...values);
    expect(output).toContain('0 chart(s) failed');
    expect(code, output).toBe(0);
  });

  it('has only pods that the restricted Pod Security Standard allows', ({ skip }) => {
    if (helm === null) skip();
    const pods = manifests.filter(podOf);
    expect(pods).toHaveLength(5);
    for (const manifest of pods) expect(breaches(podOf(manifest)), manifest.metadata.name).toEqual([]);
  });

  it('lets every pod read its passwords from files only', ({ skip }) => {
    if (helm === null) skip();
    for (const { containers } of manifests.map(podOf).filter(Boolean)) {
      const { env } = containers[0];
      const names: string[] = env.map(({ name }: Manifest) => name);
      expect(names).toEqual([...new Set(names)]);
      expect(names).toEqual(
        expect.arrayContaining(['DATABASE_URL_FILE', 'REDIS_URL_FILE', 'SECRET_KEY_FILE']),
      );
      const secret = /^(.*_URL|SECRET_KEY(_PREVIOUS)?|.*_PASSWORD|.*_SECRET|.*_HEADERS)$/;
      expect(names.filter((name) => secret.test(name))).toEqual([]);
    }
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  it(
    'has manifests that the schemas of Kubernetes accept',
    async ({ skip }) => {
      const folder = helm === null ? null : await findSchemas();
      if (folder === null) return skip();
      const path = join(scratch, file);
      writeFileSync(
        path,
        manifests
          .filter((one) => !isCustom(one))
          .map((one) => stringify(one))
          .join('---\n'),
      );
      const { code, output } = await validate(folder, path);
      expect(output).toContain('INFO');
      expect(output).not.toMatch(/ERROR|WARN/);
      expect(code).toBe(0);
    },
    INSTALL_TIMEOUT,
  );

  it(
    'has custom resources that their definitions accept',
    async ({ skip }) => {
      const custom = manifests.filter(isCustom);
      const definitions = helm === null ? null : await findDefinitions();
      if (definitions === null) return skip();
      for (const manifest of custom) {
        const check = definitions.get(`${manifest.apiVersion} ${manifest.kind}`);
        expect(check?.(manifest), JSON.stringify(check?.errors)).toBe(true);
      }
    },
    INSTALL_TIMEOUT,
  );
});

describe.each(['minimal.yaml', 'monitored.yaml'])(
  'the program with the environment of the pods of %s',
  (file) => {
    it('migrates, answers every probe, and ends within the time that Kubernetes gives it', async ({
      skip,
    }) => {
      if (helm === null) skip();
      const folder = mkdtempSync(join(scratch, 'secret-'));
      const manifests = render(CHART, '--values', join(VALUES, file));
      const start = (manifest: Manifest) => startPod(podOf(manifest), folder);

      const migration = start(manifests.find(({ kind }) => kind === 'Job'));
      expect(await migration.ended(), migration.said).toBe(0);
      await Promise.all(
        manifests
          .filter(({ kind }) => kind === 'Deployment')
          .map(async (manifest) => {
            const { containers, terminationGracePeriodSeconds } = podOf(manifest);
            const [{ startupProbe, livenessProbe, readinessProbe }] = containers;
            const service = start(manifest);
            for (const { httpGet, exec } of [startupProbe, livenessProbe, readinessProbe]) {
              if (httpGet) {
                const base = httpGet.port === 'http' ? await service.url() : await service.opsUrl();
                expect((await fetch(base + httpGet.path)).status, httpGet.path).toBe(200);
              } else {
                const [, option, program] = exec.command;
                const moved = program.replace('http://127.0.0.1:3001', await service.opsUrl());
                await run(process.execPath, [option, moved]);
              }
            }
            const begin = Date.now();
            expect(await service.end('SIGTERM'), service.said).toBe(0);
            expect(Date.now() - begin).toBeLessThan(terminationGracePeriodSeconds * 1000);
          }),
      );
    }, 120_000);
  },
);

it('the chart renders the same from an archive, with the alerts in it', ({ skip }) => {
  if (helm === null) skip();
  const { code, output } = runHelm('package', CHART, '--destination', scratch);
  expect(code, output).toBe(0);
  const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz')) ?? '';
  const values = ['--values', join(VALUES, 'everything.yaml')];
  const manifests = render(join(scratch, archive), ...values);
  expect(manifests).toEqual(render(CHART, ...values));
  expect(manifests.map(({ kind }) => kind)).toContain('PrometheusRule');
});

it('the chart scales by a metric that is documented', ({ skip }) => {
  if (helm === null) skip();
  const manifests = render(CHART, '--values', join(VALUES, 'monitored.yaml'));
  const { query } = manifests.find(({ kind }) => kind === 'ScaledObject').spec.triggers[0].metadata;
  const [, metric] = /^max\((\w+)\{namespace="books"\}\)$/.exec(query) ?? [];
  expect(readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')).toContain(`| \`${metric}\` |`);
});

it(
  'the chart has the alerts of ops/prometheus, and promtool accepts them',
  async ({ skip }) => {
    if (helm === null || !(await findPromtool())) skip();
    const manifests = render(CHART, '--values', join(VALUES, 'monitored.yaml'));
    const { groups } = manifests.find(({ kind }) => kind === 'PrometheusRule').spec;
    const path = join(scratch, 'rules.yml');
    writeFileSync(path, stringify({ groups }));
    expect(promtool(['check', 'rules', path])).toMatchObject({
      code: 0,
      output: expect.stringContaining('SUCCESS'),
    });
    // Nothing of them was evaluated, and only the address of the runbook is another one.
    const source = readFileSync(join(ROOT, 'ops/prometheus/alerts.yml'), 'utf8');
    expect(groups).toEqual(
      parse(source.replaceAll('runbook_url: ', 'runbook_url: https://git.example/ledgerbell/')).groups,
    );
  },
  INSTALL_TIMEOUT,
);

it.for<[string, string]>([
  ['roles.api.replicas=two', '/roles/api/replicas'],
  ['roles.importer.replica=2', 'replica'],
  ['image.pullPolicy=Sometimes', '/image/pullPolicy'],
  ['secret.keys.SECRET_KEY=', '/secret/keys/SECRET_KEY'],
  ['env.DATABASE_URL=mysql://root:password@db', 'DATABASE_URL'],
  ['env.OPS_TLS_CERT_FILE=/tls/ops.pem', 'OPS_TLS_CERT_FILE'],
  ['env.RATE_LIMIT=500', '/env/RATE_LIMIT'],
  ['ingress.enabled=true', '/ingress/hosts'],
  ['autoscaling.keda.enabled=true', '/autoscaling/keda/serverAddress'],
])('the chart refuses %s, and names the value', ([value, name], { skip }) => {
  if (helm === null) skip();
  const { code, output } = template(CHART, '--set', value);
  expect(code).not.toBe(0);
  expect(output).toContain(name);
});

it.for<[string[], string]>([
  [
    [
      'autoscaling.delivery.enabled=true',
      'autoscaling.keda.enabled=true',
      'autoscaling.keda.serverAddress=http://p',
    ],
    'autoscaling.delivery and autoscaling.keda both scale the role delivery. Enable one of them.',
  ],
  [['secret.keys.ADMIN_USER=user'], 'Set secret.keys.ADMIN_USER and secret.keys.ADMIN_PASSWORD, or neither.'],
  [
    ['serviceMonitor.enabled=true'],
    'serviceMonitor needs secret.keys.ADMIN_USER and secret.keys.ADMIN_PASSWORD',
  ],
  [
    ['serviceMonitor.enabled=true', 'secret.keys.ADMIN_USER=user', 'secret.keys.ADMIN_PASSWORD=password'],
    'serviceMonitor needs networkPolicy.opsFrom',
  ],
])('the chart refuses %s, and says why', ([values, sentence], { skip }) => {
  if (helm === null) skip();
  const { code, output } = template(CHART, ...values.flatMap((value) => ['--set', value]));
  expect(code).not.toBe(0);
  expect(output).toContain(sentence);
});

/** Runs what a pod runs, with its environment, on free ports. @param folder for the files of the Secret. */
function startPod(pod: Manifest, folder: string) {
  const [{ command, env }] = pod.containers;
  for (const { path } of pod.volumes.find(({ name }: Manifest) => name === 'secret').secret.items) {
    writeFileSync(join(folder, path), SECRET[path as keyof typeof SECRET]);
  }
  const variables = env.map(({ name, value, valueFrom }: Manifest) => [
    name,
    valueFrom
      ? SECRET[valueFrom.secretKeyRef.key as keyof typeof SECRET]
      : value.replace('/run/secrets/ledgerbell', folder),
  ]);
  const [, entry, ...args] = command;
  return processes.start(
    { ...Object.fromEntries(variables), PORT: '0', OPS_PORT: '0' },
    args,
    entry.replace(/^dist\/(.*)\.js$/, '$1.ts'),
  );
}

const run = promisify(execFile);

/** The folder with kubernetes-validate, which brings the schemas of each version of Kubernetes. */
const findSchemas = () =>
  findPythonPackage(
    'kubernetes-validate',
    '1.37.0',
    'The manifests of the Helm chart are not compared with schemas',
  );

/** The oldest version of Kubernetes that the chart takes, and the newest one that the package knows. */
const KUBERNETES = ['--kubernetes-version', '1.25', '--kubernetes-version', '1.37'];

async function validate(folder: string, path: string) {
  const env = { ...process.env, PYTHONPATH: folder };
  const args = ['-m', 'kubernetes_validate', '--strict', ...KUBERNETES, path];
  const { code = 0, stdout, stderr } = await run('python3', args, { env }).catch((error) => error);
  return { code, output: `${stdout}${stderr}` };
}

/** Where the modules of KEDA and the Prometheus Operator have the definitions of their resources. */
const DEFINITIONS: [module: string, paths: string[]][] = [
  ['github.com/kedacore/keda/v2@v2.21.0', ['config/crd/bases/keda.sh_scaledobjects.yaml']],
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  ],
];

/** A check for each version and kind, or null if the modules cannot be had. */
async function findDefinitions() {
  const checks = new Map<string, ReturnType<Ajv['compile']>>();
  for (const [module, paths] of DEFINITIONS) {
    const folder = await findGoModule(module, 'Custom resources are not compared with their definitions');
    if (folder === null) return null;
    for (const path of paths) {
      const { group, names, versions } = parse(readFileSync(join(folder, path), 'utf8')).spec;
      for (const { name, schema } of versions) {
        // OpenAPI has keywords and formats that are not of JSON Schema.
        const ajv = new Ajv({ strict: false, validateFormats: false });
        checks.set(`${group}/${name} ${names.kind}`, ajv.compile(closed(schema.openAPIV3Schema)));
      }
    }
  }
  return checks;
}

/** The schema, with unknown properties refused, as `kubectl` refuses them. */
function closed(schema: Manifest): Manifest {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  // (?i) is of Go's regular expressions.
  const entries = Object.entries(schema).filter(([, value]) => !String(value).includes('(?i)'));
  const inner = Object.fromEntries(entries.map(([key, value]) => [key, closed(value)]));
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties !== undefined;
  return schema.type === 'object' && schema.properties && !isOpen
    ? { ...inner, additionalProperties: false }
    : inner;
}
