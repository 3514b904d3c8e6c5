import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { answering } from '../../platform/addresses/fixed-answers.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { collect, measure } from './collect.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { hasOpenSsh, useOpenSsh } from './openssh.ts';
import { useSftpSource } from './sftp-source.ts';

const MIB = 1024 * 1024;
const server = useOpenSsh();
const source = useSftpSource(server);

const OTHER_KEY = `SHA256:${'A'.repeat(43)}`;

describe.skipIf(!hasOpenSsh)('the host key of an SFTP server', () => {
  it('may be any host key of the server', async () => {
    expect(await collect(source.connect({ host_key: server.hostKeys.rsa }))).toEqual([]);
    expect(await collect(source.connect({ host_key: server.hostKeys.ed25519 }))).toEqual([]);
  });

  it("is refused when it differs, with an error that lists the server's keys, before anything is sent", async () => {
    const signIns = () => server.log().match(/Accepted publickey|Failed publickey|userauth/g)?.length ?? 0;
    const before = signIns();
    const problem: Error = await collect(source.connect({ host_key: OTHER_KEY })).catch((error) => error);
    expect(problem.message).toContain(`${server.hostKeys.ed25519} (ssh-ed25519)`);
    expect(problem.message).toContain(`${server.hostKeys.rsa} (ssh-rsa)`);
    expect(problem.message).toContain(OTHER_KEY);
    expect(problem.name).toBe('SourceError');
    expect(signIns()).toBe(before);
  });
});

describe.skipIf(!hasOpenSsh)('an SFTP source', () => {
  it('fails with an error that says that the server refuses its key', async () => {
    const connector = source.connect({}, { credentials: { private_key: server.otherKey } });
    await expect(collect(connector)).rejects.toThrow(/refuses the credentials.*private_key/);
  });

  it('fails with an error that says that its private key cannot be read, without showing the key', async () => {
    const damaged = server.key.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
    const problem: Error = await collect(source.connect({}, { credentials: { private_key: damaged } })).catch(
      (error) => error,
    );
    expect(problem.message).toContain('private_key cannot be read');
    expect(problem.message).not.toContain(server.key.slice(60, 100));
  });

  it('fails with an error that says that nobody listens at the port', async () => {
    const port = await reservePort();
    await expect(collect(source.connect({ port }))).rejects.toThrow(`127.0.0.1:${port} refuses connections`);
  });

  it('gives up on a server that is silent from the beginning', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const limits = { connect: 300, idle: 300 };
    await expect(collect(source.connect({ port }, { limits }))).rejects.toThrow(
      'could not be reached within 0.3 s',
    );
  });

  it('fails with an error that says that the port answers with something other than SSH', async () => {
    const web = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void web.close());
    await once(web, 'listening');
    const { port } = web.address() as AddressInfo;
    await expect(collect(source.connect({ port }))).rejects.toThrow(
      /Check host and port|closed the connection/,
    );
  });

  it.each([
    ['ends', 'end', 'broke off'],
    ['is reset', 'reset', 'broke off'],
    ['goes silent', 'stall', 'sent nothing for 0.5 s'],
  ] as const)('fails when the connection %s in the middle of a file', async (_what, kind, reason) => {
    await writeFile(join(source.folder, 'statement.sta'), Buffer.alloc(4 * MIB, 'x'));
    const port = await startFaultProxy(server.port, { kind, afterBytes: MIB });
    const connector = source.connect({ port }, { limits: { connect: 15_000, idle: 500 } });
    await expect(collect(connector)).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(reason),
    });
  });

  it('reads 100 MB in constant memory', async () => {
    const path = join(source.folder, 'huge.sta');
    const file = await open(path, 'w');
    await file.truncate(100 * MIB); // Sparse: it takes no room on the disk.
    await file.close();
    const { bytes, memory } = await measure(source.connect());
    expect(bytes).toBe(100 * MIB);
    expect(memory).toBeLessThan(64 * MIB);
  });
});

describe('the address of an SFTP server', () => {
  const settings = { port: 22, host_key: OTHER_KEY };
  const strict = createAddressGuard({ allow: [], subject: 'source' });

  it.each(['127.0.0.1', '::1', 'localhost', '10.1.2.3', '169.254.169.254', '::ffff:127.0.0.1'])(
    'is refused when it is %s',
    async (host) => {
      const problem: Error = await collect(source.connect({ ...settings, host }, { guard: strict })).catch(
        (error) => error,
      );
      expect(problem.name).toBe('SourceError');
      expect(problem.message).toContain('Sources are read from public addresses only');
      expect(problem.message).not.toContain('Webhooks');
    },
  );

  it('is refused when a name leads to it, even if the name led elsewhere when the source was created', async () => {
    const { resolve } = answering(['93.184.216.34'], ['127.0.0.1']);
    const guard = createAddressGuard({ allow: [], subject: 'source', resolve });
    expect(await guard.resolveHost('sftp.bank.example')).toBeNull();
    const connector = source.connect({ ...settings, host: 'sftp.bank.example' }, { guard });
    await expect(collect(connector)).rejects.toThrow(
      "The source's host name leads to an address that is loopback",
    );
  });

  it.skipIf(!hasOpenSsh)('is resolved once, so that a changed DNS answer has no effect', async () => {
    const { resolve, asked } = answering(['127.0.0.1'], ['127.0.0.2']);
    const guard = createAddressGuard({ allow: ['127.0.0.1/32'], subject: 'source', resolve });
    expect(await collect(source.connect({ host: 'sftp.bank.example' }, { guard }))).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});
