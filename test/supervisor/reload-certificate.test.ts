import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { beforeAll, expect, it } from 'vitest';
import { makeCertificate, type TestCertificate } from '../support/certificate.ts';
import type { ServiceProcess } from '../support/process.ts';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

/** A reload (SIGHUP) with a renewed certificate of the operators' listener. */

const { start, newDirectory } = useServiceProcesses();
const servers = useServers();

let first: TestCertificate;
let renewed: TestCertificate;
let variables: { OPS_TLS_CERT_FILE: string; OPS_TLS_KEY_FILE: string };
let service: ServiceProcess;

/** Puts certificate and key where the service reads them. */
function install({ certFile }: TestCertificate, { keyFile }: TestCertificate): void {
  copyFileSync(certFile, variables.OPS_TLS_CERT_FILE);
  copyFileSync(keyFile, variables.OPS_TLS_KEY_FILE);
}

/** Sends SIGHUP. @returns what the service has said about it. */
async function reload(): Promise<string> {
  const before = service.said.length;
  service.child.kill('SIGHUP');
  return until(
    'the reload has ended',
    () => {
      const said = service.said.slice(before);
      return /The restart (has ended|is not complete)|stay as they are/.test(said) && said;
    },
    60_000,
  );
}

/** The fingerprint of the certificate that a new connection gets. */
async function readFingerprint(): Promise<string | undefined> {
  const { port } = new URL(await service.opsUrl());
  const socket = connect({ port: Number(port), host: '127.0.0.1', ca: [first.cert, renewed.cert] });
  await once(socket, 'secureConnect');
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
  socket.destroy();
  return fingerprint;
}

beforeAll(async () => {
  const directory = await newDirectory();
  first = makeCertificate(join(directory, 'first'));
  renewed = makeCertificate(join(directory, 'renewed'));
  variables = {
    OPS_TLS_CERT_FILE: join(directory, 'cert.pem'),
    OPS_TLS_KEY_FILE: join(directory, 'key.pem'),
  };
  install(first, first);
  service = start({ ...servers, ...variables, PROCESSES: '2' });
  await service.url();
});

it('a service does not start with a certificate and the key of another one, and says why on one line', async () => {
  const refused = start({ ...servers, ...variables, OPS_TLS_KEY_FILE: renewed.keyFile });
  expect(await refused.ended()).toBe(1);
  expect(refused.said).toBe(
    'OPS_TLS_KEY_FILE must be the path of the private key of the certificate in OPS_TLS_CERT_FILE: this key belongs to another one.\n',
  );
});

it('a reload refuses a certificate without its key, and then takes both', async () => {
  expect(await service.opsUrl()).toMatch(/^https:/);
  expect(await readFingerprint()).toBe(first.fingerprint);
  install(renewed, first);
  expect(await reload()).toMatch(
    /^OPS_TLS_KEY_FILE must be the path of the private key of the certificate in OPS_TLS_CERT_FILE: .* The running processes stay as they are\.$/m,
  );
  expect(await readFingerprint()).toBe(first.fingerprint);
  install(renewed, renewed);
  expect(await reload()).toMatch(/^Changed in their files: OPS_TLS_CERT_FILE or OPS_TLS_KEY_FILE\.$/m);
  expect(await readFingerprint()).toBe(renewed.fingerprint);
});
