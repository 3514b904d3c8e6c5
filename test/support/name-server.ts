import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';
import { afterAll, beforeAll } from 'vitest';

const RECORD_TYPES = { a: 1, cname: 5, aaaa: 28 } as const;
const RESPONSE_CODES = { noerror: 0, servfail: 2, nxdomain: 3 } as const;

type Failure = 'silence' | 'servfail' | 'nxdomain';

/** The records of a name. */
export interface Zone {
  /** IPv4 addresses, or how a query for them fails. Default: none (NODATA). */
  a?: string[] | Failure;
  aaaa?: string[] | Failure;
  /** Another name of this server, whose records are added to the answer. */
  cname?: string;
  /** Seconds. Default: 60. */
  ttl?: number;
  /** TTL of the IPv6 addresses. Default: `ttl`. */
  aaaaTtl?: number;
}

export interface NameServer {
  /** For `resolver.setServers`. */
  readonly address: string;
  /** The queries that were received, as "a bank.example". */
  readonly asked: string[];
  /** The names of this server. All others do not exist. */
  readonly zones: Map<string, Zone | Failure>;
}

/** Starts a real DNS server for this test file, on a UDP socket on loopback. It has no names at first. */
export function useNameServer(): NameServer {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  const zones = new Map<string, Zone | Failure>();
  let port = 0;

  socket.on('message', (query, client) => {
    const { name, type, question } = readQuestion(query);
    asked.push(`${type} ${name}`);
    const records: Buffer[] = [];
    let owner = name;
    let zone = zones.get(owner) ?? 'nxdomain';
    while (typeof zone === 'object' && zone.cname !== undefined) {
      records.push(record(owner, 'cname', zone.ttl, writeName(zone.cname)));
      owner = zone.cname;
      zone = zones.get(owner) ?? 'nxdomain';
    }
    const found = typeof zone === 'object' ? (zone[type] ?? []) : zone;
    if (found === 'silence') return;
    const code = RESPONSE_CODES[typeof found === 'string' ? found : 'noerror'];
    if (typeof found === 'object' && typeof zone === 'object') {
      const ttl = type === 'aaaa' ? (zone.aaaaTtl ?? zone.ttl) : zone.ttl;
      for (const address of found) {
        records.push(record(owner, type, ttl, Buffer.from(ipaddr.parse(address).toByteArray())));
      }
    }
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2); // The id of the question
    header.writeUInt16BE(0x8180 | code, 2); // An answer, with recursion asked for and available
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, question, ...records]), client.port, client.address);
  });

  beforeAll(async () => {
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    port = socket.address().port;
  });
  afterAll(() => void socket.close());

  return {
    get address() {
      return `127.0.0.1:${port}`;
    },
    asked,
    zones,
  };
}

/** Reads the one question of a query (RFC 1035, section 4.1.2). */
function readQuestion(query: Buffer): { name: string; type: 'a' | 'aaaa'; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1) === RECORD_TYPES.a ? 'a' : 'aaaa';
  return { name: labels.join('.').toLowerCase(), type, question: query.subarray(12, at + 5) };
}

/** One record of class IN (RFC 1035, section 4.1.3). */
function record(owner: string, type: keyof typeof RECORD_TYPES, ttl = 60, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(RECORD_TYPES[type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([writeName(owner), fixed, data]);
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}
