import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { answering } from '../../platform/addresses/fixed-answers.ts';
import { collect } from './collect.ts';
import { useS3Source } from './s3-source.ts';

const s3 = useS3Source();
const { connect, put, server } = s3;

describe('the address of an S3 service', () => {
  it.each(['http://127.0.0.1:9000', 'http://[::1]:9000', 'http://localhost:9000', 'http://169.254.169.254'])(
    'is refused when it is %s',
    async (endpoint) => {
      const guard = createAddressGuard({ allow: [], subject: 'source' });
      await expect(collect(connect({ endpoint }, { guard }))).rejects.toThrow(
        'Sources are read from public addresses only',
      );
    },
  );

  it('is refused when a name leads to it, with the bucket in the path or in the host name', async () => {
    const { resolve, asked } = answering(['127.0.0.1']);
    const guard = createAddressGuard({ allow: [], subject: 'source', resolve });
    for (const path_style of [true, false]) {
      const connector = connect({ endpoint: 'http://s3.bank.example:9000', path_style }, { guard });
      await expect(collect(connector)).rejects.toMatchObject({
        name: 'SourceError',
        message: expect.stringContaining('leads to an address that is loopback'),
      });
    }
    expect(asked).toEqual(['s3.bank.example', `${s3.bucket}.s3.bank.example`]);
  });

  it('is the address that the address guard resolved', async () => {
    const { resolve, asked } = answering(['127.0.0.1']);
    const guard = createAddressGuard({ allow: ['127.0.0.1/32'], subject: 'source', resolve });
    await put('a.sta', 'movements');
    const endpoint = `http://storage.bank.example:${server.port}`;
    expect(await collect(connect({ endpoint }, { guard }))).toMatchObject([{ text: 'movements' }]);
    expect(asked).toContain('storage.bank.example');
  });
});
