import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

/** Checks of the profile `observability` that need no Docker engine. */

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => parse(readFileSync(join(ROOT, path), 'utf8'), { merge: true });

interface ComposeService {
  image: string;
  profiles?: string[];
  environment?: Record<string, unknown>;
  command: string[];
  secrets?: string[];
  volumes: string[];
  ports: string[];
}

const compose: { services: Record<string, ComposeService>; volumes: Record<string, null> } =
  read('docker-compose.yml');
const { prometheus, grafana, jaeger } = compose.services as Record<
  'prometheus' | 'grafana' | 'jaeger',
  ComposeService
>;
const config = read('ops/prometheus/prometheus.yml');

describe('the profile observability', () => {
  it('has Prometheus, Grafana and Jaeger, which nothing else starts, on this machine only', () => {
    const others = Object.entries(compose.services).filter(([, { profiles = [] }]) => profiles.length === 0);
    expect(others.map(([name]) => name)).not.toContain('prometheus');
    for (const { profiles, image, ports } of [prometheus, grafana, jaeger]) {
      expect(profiles).toEqual(['observability']);
      expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  it('mounts files that exist, and volumes that are declared', () => {
    for (const volume of [...prometheus.volumes, ...grafana.volumes]) {
      const [source = ''] = volume.split(':');
      const isThere = source.startsWith('.') ? existsSync(join(ROOT, source)) : source in compose.volumes;
      expect([source, isThere]).toEqual([source, true]);
    }
  });

  it("scrapes every role at the port of its operators' listener", () => {
    const [{ job_name, dns_sd_configs }] = config.scrape_configs;
    const [{ names, port }] = dns_sd_configs;
    expect(job_name).toBe('ledgerbell');
    expect(names).toEqual(['api', 'importer', 'delivery', 'maintenance']);
    for (const name of names) {
      const { environment } = compose.services[name] as ComposeService;
      expect([name, environment?.OPS_PORT]).toEqual([name, port]);
      expect(environment).toMatchObject({
        OPS_HOST: '0.0.0.0',
        ADMIN_PASSWORD_FILE: '/run/secrets/admin_password',
      });
    }
  });

  /** Runs what the container of Prometheus runs, in a folder of its own, with `echo` in the place of Prometheus. */
  async function start(env: Record<string, string>) {
    const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-observability-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const script = (prometheus.command[0] ?? '')
      .replaceAll('$$', '$')
      .replaceAll('/tmp/', `${directory}/`)
      .replaceAll('/etc/ledgerbell', join(ROOT, 'ops/prometheus'))
      .replace('/bin/prometheus', 'echo');
    const { PATH = '' } = process.env;
    const { status, stdout } = spawnSync('/bin/sh', ['-c', script], {
      env: { PATH, ...env },
      encoding: 'utf8',
    });
    return { directory, status, stdout };
  }

  it('gives Prometheus the user name, and the file with the password', async () => {
    const { directory, status, stdout } = await start({ ADMIN_USER: 'ops' });
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(`--config.file=${directory}/prometheus.yml`),
    ]);
    const written = parse(await readFile(join(directory, 'prometheus.yml'), 'utf8'));
    expect(written.scrape_configs[0].basic_auth).toEqual({
      username: 'ops',
      password_file: '/run/secrets/admin_password',
    });
    expect(prometheus.secrets).toEqual(['admin_password']);
  });

  it('shows the dashboards, with data from its own Prometheus', () => {
    const [provider] = read('ops/grafana/provisioning/dashboards/ledgerbell.yml').providers;
    expect(grafana.volumes).toContain(`./ops/grafana:${provider.options.path}:ro`);
    const [source] = read('ops/grafana/provisioning/datasources/prometheus.yml').datasources;
    expect([source.type, source.url]).toEqual(['prometheus', 'http://prometheus:9090']);
    const files = readdirSync(join(ROOT, 'ops/grafana')).filter((name) => name.endsWith('.json'));
    const uids = files.map((name) => JSON.parse(readFileSync(join(ROOT, 'ops/grafana', name), 'utf8')).uid);
    expect([files.length, new Set(uids).size]).toEqual([3, 3]);
  });
});
