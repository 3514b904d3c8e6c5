import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import S3rver from 's3rver';
import { isSigned } from './s3-signature.ts';

/**
 * An S3 server with its data in the folder that is named, as a process of its own. Prints its port.
 *
 * s3rver's own check refuses what the current SDK signs for a bucket, since it leaves out the final slash of the path. So
 * signatures are checked here.
 */
const [, , directory = '', secret = ''] = process.argv;
const s3rver = new S3rver({ silent: true, directory, vhostBuckets: false, allowMismatchedSignatures: true });
const answer = s3rver.callback();
const server = createServer((request, response) => {
  if (isSigned(request, secret)) return answer(request, response);
  response.writeHead(403, { 'content-type': 'application/xml' });
  response.end('<Error><Code>SignatureDoesNotMatch</Code><Message>wrong</Message></Error>');
}).listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
