/** A name server of the test (RFC 1035): names with addresses, and names on which it is silent. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** Names that were asked for, `A a.test`. */
  readonly asked: readonly string[];
}

type Answer = readonly string[] | 'silent' | 'garbage';

/** Addresses by name, of IPv4 and (with a colon) of IPv6; a name that is not there does not exist. A function answers anew each time. */
export async function nameServer(names: Readonly<Record<string, Answer | (() => Answer)>>): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from: RemoteInfo) => {
    const { name, type, end } = questionOf(query);
    asked.push(`${type === 28 ? 'AAAA' : 'A'} ${name}`);
    const told = names[name];
    const answer = typeof told === 'function' ? told() : told;
    if (answer === 'silent') return;
    if (answer === 'garbage') {
      socket.send(Buffer.concat([query.subarray(0, 2), Buffer.from('garbage'.repeat(20))]), from.port, from.address);
      return;
    }
    const records = (answer ?? []).filter((one) => one.includes(':') === (type === 28)).map((one) => record(one, type));
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(answer ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function record(address: string, type: number): Buffer {
  const bytes = type === 28 ? bytesOf6(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

/** Without a part of IPv4 in it. */
function bytesOf6(address: string): Buffer {
  const [left = '', right] = address.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':').map((one) => Number.parseInt(one, 16)) : []);
  const [first, last] = [groups(left), groups(right)];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
