import { describe, expect, it } from 'vitest';
import { collect } from './collect.ts';
import { hasOpenSsh, useOpenSsh } from './openssh.ts';
import { useSftpSource } from './sftp-source.ts';

const server = useOpenSsh({ sha1: true });
const source = useSftpSource(server);

describe.skipIf(!hasOpenSsh)('an SFTP server that signs only with SHA-1', () => {
  it('is refused with the setting that accepts it', async () => {
    await expect(collect(source.connect({ host_key: server.hostKeys.rsa }))).rejects.toThrow(
      /has no host key that this service accepts. If it can only sign with SHA-1, set "ssh_rsa" to true\./,
    );
  });

  it('is read when the source allows ssh-rsa', async () => {
    expect(await collect(source.connect({ host_key: server.hostKeys.rsa, ssh_rsa: true }))).toEqual([]);
  });
});
