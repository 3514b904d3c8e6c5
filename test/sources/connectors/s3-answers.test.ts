import { expect, it } from 'vitest';
import { collect } from './collect.ts';
import { useS3Source } from './s3-source.ts';
import { startWebServer } from './web-server.ts';

const { connect } = useS3Source();

const MIB = 1024 * 1024;

it.each([
  ['a listing', 200, 'sends more than 8 MiB where a list or an error belongs'],
  ['an error', 403, 'does not allow access'],
])(
  '%s of any size from an S3 server gives one short error, and is not held in memory',
  async (_, status, sentence) => {
    let sent = 0;
    const { origin } = await startWebServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      const send = () => {
        while (sent < 200 * MIB) {
          sent += MIB;
          if (!response.write(Buffer.alloc(MIB, ' '))) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    await expect(collect(connect({ endpoint: origin }))).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(sentence),
    });
    expect(sent).toBeLessThan(100 * MIB);
  },
);
