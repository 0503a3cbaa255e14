/** Requests and names that mean harm, or make no sense: each is refused by name, and another app never notices. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually, stays } from '../../fixtures/eventually.ts';
import { nameServer } from './name-server.ts';
import { APP, asked, Client, echo, HOST, listening, OTHER, type StartOptions, start, tunnel } from './started.ts';

after(leakCheck());

const MIB = 1024 * 1024;

/** Two apps, one of which is asked after each row whether it still gets through. */
async function two(options: StartOptions = {}, hosts: readonly string[] = [HOST]) {
  const started = await start({ grants: hosts.map((host) => `network.outbound:${host}`), ...options });
  const server = await listening(echo);
  const ports = [server.port];
  const { path } = await started.service.open({ ...APP, hosts: hosts.map((host) => ({ host, ports })) });
  const other = await started.service.open({ ...OTHER, hosts: [{ host: HOST, ports }] });
  return {
    ...started,
    path,
    port: server.port,
    sockets: server.sockets,
    /** The other app gets through. */
    async fine() {
      using client = new Client(other.path).say(tunnel(server.port));
      assert.match(await client.until('\r\n\r\n'), /^HTTP\/1\.1 200 /);
      client.heard = '';
      assert.equal(await client.say('still there').until('there'), 'still there');
    },
    async [Symbol.asyncDispose]() {
      await started.host[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('a request that is none of a proxy, or wants what it may not', () => {
  const connect = (authority: string) => () => `CONNECT ${authority} HTTP/1.1\r\n\r\n`;
  const plain = (url: string, ...headers: readonly string[]) =>
    `GET ${url} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
  const rows: readonly (readonly [title: string, request: (port: number) => string | Buffer, answer: RegExp])[] = [
    ['CONNECT to an address', connect('93.184.216.34:443'), /^HTTP\/1\.1 403 EGRESS_DENIED.*an address names no host/],
    ['CONNECT to an address of this device', connect('127.0.0.1:443'), /^HTTP\/1\.1 403 EGRESS_DENIED/],
    ['CONNECT to an address in few digits', connect('127.1:443'), /^HTTP\/1\.1 403 EGRESS_DENIED/],
    ['CONNECT to an address as one number', connect('2130706433:443'), /^HTTP\/1\.1 403 EGRESS_DENIED/],
    ['CONNECT to an address in hexadecimal', connect('0x7f000001:443'), /^HTTP\/1\.1 403 EGRESS_DENIED/],
    ['CONNECT to an address of IPv6', connect('[::1]:443'), /^HTTP\/1\.1 403 EGRESS_DENIED.*an address names no host/],
    ['CONNECT to localhost', connect('localhost:443'), /^HTTP\/1\.1 403 EGRESS_DENIED.*the device itself/],
    [
      'CONNECT to another host',
      connect('evil.test:443'),
      /^HTTP\/1\.1 403 EGRESS_DENIED.*network\.outbound:evil\.test/,
    ],
    ['CONNECT to another port', connect(`${HOST}:22`), /^HTTP\/1\.1 403 EGRESS_DENIED.*ports: \[22\]/],
    ['CONNECT without a port', connect(HOST), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['CONNECT to port 0', connect(`${HOST}:0`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['CONNECT to a port that is none', connect(`${HOST}:99999`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['CONNECT with a user', connect(`me@${HOST}:443`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['CONNECT to a name without an end', connect(`${'a'.repeat(5_000)}:443`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['CONNECT to a wildcard', connect('*.test:443'), /^HTTP\/1\.1 403 EGRESS_DENIED.*wildcard/],
    ['a request for the proxy itself', () => plain('/', `Host: ${HOST}`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['https in plain', () => plain(`https://${HOST}/`, `Host: ${HOST}`), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['a file', () => plain('file:///etc/passwd', 'Host: x'), /^HTTP\/1\.1 400 /],
    ['an address with a user', () => plain(`http://me@${HOST}/`, 'Host: x'), /^HTTP\/1\.1 400 REQUEST_INVALID/],
    ['no host', () => plain('http:///x', 'Host: x'), /^HTTP\/1\.1 400 /],
    ['an address of IPv6', () => plain('http://[::1]/', 'Host: x'), /^HTTP\/1\.1 403 EGRESS_DENIED/],
    [
      'another host, and a Host that was granted',
      () => plain('http://evil.test/', `Host: ${HOST}`),
      /^HTTP\/1\.1 403 EGRESS_DENIED/,
    ],
    [
      'port 80, which was not granted',
      () => plain(`http://${HOST}/`, `Host: ${HOST}`),
      /^HTTP\/1\.1 403 EGRESS_DENIED.*ports: \[80\]/,
    ],
    [
      'headers of a mebibyte',
      (port) => plain(`http://${HOST}:${port}/`, `Host: x`, `X: ${'x'.repeat(MIB)}`),
      /^HTTP\/1\.1 431 HEADERS_TOO_LARGE/,
    ],
    [
      'an address of a mebibyte',
      (port) => plain(`http://${HOST}:${port}/${'x'.repeat(MIB)}`, 'Host: x'),
      /^HTTP\/1\.1 431 HEADERS_TOO_LARGE/,
    ],
    [
      'two lengths of a body',
      (port) =>
        `POST http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'a length and chunks',
      (port) =>
        `POST http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'chunks that are not the last coding',
      (port) =>
        `POST http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'a header in two lines',
      (port) => `GET http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'a space before the colon',
      (port) => `GET http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\n`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'a line end inside of a header',
      (port) => `GET http://${HOST}:${port}/ HTTP/1.1\r\nHost: x\r\nX: a\rB: c\r\n\r\n`,
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    [
      'garbage',
      () => Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 37) % 256)),
      /^HTTP\/1\.1 400 REQUEST_INVALID/,
    ],
    ['the beginning of TLS', () => Buffer.from('16030100f8010000f40303', 'hex'), /^HTTP\/1\.1 400 REQUEST_INVALID/],
  ];
  for (const [title, request, answer] of rows)
    it(`${title}: it is refused by name, and nothing is connected to`, async () => {
      await using side = await two();
      assert.match(await asked(side.path, request(side.port)), answer);
      assert.equal(side.sockets.size, 0);
      await side.fine();
    });

  it('a second request behind the first is not answered, and reaches no host', async () => {
    await using side = await two();
    const came: string[] = [];
    await using server = await listening((socket) => {
      socket.on('data', (bytes) => {
        came.push(String(bytes));
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    await side.service.open({ ...APP, hosts: [{ host: HOST, ports: [server.port] }] });
    const one = `GET http://${HOST}:${server.port}/one HTTP/1.1\r\nHost: x\r\n\r\n`;
    const answer = await asked(side.path, one + one.replace('one', 'two'));
    assert.equal(answer.split('HTTP/1.1 200').length, 2);
    assert.equal(came.length, 1);
    assert.match(came[0]!, /^GET \/one /);
    await side.fine();
  });

  it('half a request is given up when its time is over, and one whose app went away at once', async () => {
    const clock = virtualClock();
    await using side = await two({ clock });
    using half = new Client(side.path).say('CONNECT api.te');
    using gone = new Client(side.path).say('CONN');
    await eventually(async () => (await side.service.usage())[0]?.open === 2, 'two connections');
    gone.socket.destroy();
    await eventually(async () => (await side.service.usage())[0]?.open === 1, 'one connection');
    await clock.advance(60_000);
    assert.match(await half.closed, /^HTTP\/1\.1 408 REQUEST_TIMEOUT/);
  });

  it('a tunnel without a byte is cut when its time is over', async () => {
    const clock = virtualClock();
    await using side = await two({ clock });
    using client = new Client(side.path).say(tunnel(side.port));
    await client.until('\r\n\r\n');
    await clock.advance(3_600_000);
    await client.closed;
    await eventually(() => side.sockets.size === 0, 'no connection to the host');
  });

  it('a thousand tunnels that idle: so many as one app may have, and another app has its own', async () => {
    await using side = await two();
    const clients = Array.from({ length: 1_000 }, () => new Client(side.path).say(tunnel(side.port)));
    const answers = await Promise.all(clients.map((client) => client.until('\r\n\r\n')));
    const counts = new Map<string, number>();
    for (const answer of answers) {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 'none';
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    assert.equal(counts.get('200'), 64);
    // The system itself refuses those for whom there is no place in the row.
    assert.equal((counts.get('429') ?? 0) + (counts.get('none') ?? 0), 936);
    await side.fine();
    for (const client of clients) client[Symbol.dispose]();
    await eventually(() => side.sockets.size === 0, 'no connection to the host');
  });

  it('one that is refused in the middle of its request and goes on is cut off after some megabytes', async () => {
    await using side = await two();
    using client = new Client(side.path);
    client.say(`GET http://${HOST}:${side.port}/ HTTP/1.1\r\nX: ${'x'.repeat(32 * 1_024)}`);
    assert.match(await client.until('HEADERS_TOO_LARGE'), /^HTTP\/1\.1 431/);
    const piece = Buffer.alloc(64 * 1_024, 'x');
    let sent = 0;
    for (; !client.socket.destroyed && sent < 64 * MIB; sent += piece.length) {
      client.socket.write(piece);
      const { socket } = client;
      // Bytes that wait here were not seen there: a plugin behind a border is slower than this loop.
      await eventually(() => socket.destroyed || !socket.writableNeedDrain, 'room for the next piece', { every: 1 });
    }
    assert.ok(client.socket.destroyed && sent >= 4 * MIB, `${sent} bytes`);
    await side.fine();
  });

  it('one that sends and does not read: what waits for it is bounded', async () => {
    await using side = await two();
    using client = new Client(side.path);
    client.socket.pause();
    client.socket.write(`${tunnel(side.port)}${'x'.repeat(64 * MIB)}`);
    const taken = async () => (await side.service.usage())[0]!.sent;
    await eventually(async () => (await taken()) > 0, 'the first bytes');
    let last = -1;
    await eventually(
      async () => {
        const now = await taken();
        const same = now === last;
        last = now;
        return same;
      },
      'a standstill',
      { every: 200 },
    );
    await stays(async () => (await taken()) === last && last < 16 * MIB, `${last} bytes`);
    await side.fine();
  });
});

describe('a name', () => {
  const INSIDE: readonly (readonly [title: string, addresses: readonly string[]])[] = [
    ['to an address of the house', ['192.168.1.7']],
    ['to this device', ['127.0.0.1']],
    ['to a neighbour without a router', ['169.254.169.254']],
    ['to the address of nobody', ['0.0.0.0']],
    ['to many at once', ['224.0.0.1']],
    ['behind the provider', ['100.64.0.1']],
    ['to this device by IPv6', ['::1']],
    ['to an address of IPv4 inside of IPv6', ['::ffff:7f00:1']],
    ['to a translated address', ['64:ff9b::7f00:1']],
    ['to the house by IPv6', ['fd00::1']],
    ['to a link by IPv6', ['fe80::1']],
    ['by a tunnel through the house', ['2002:c0a8:107::1']],
    ['to sixty addresses of the house', Array.from({ length: 60 }, (_, at) => `10.0.0.${at + 1}`)],
  ];
  for (const [title, addresses] of INSIDE)
    it(`that leads ${title} is refused by the address that it leads to`, async () => {
      await using dns = await nameServer({ 'evil.test': addresses });
      await using side = await two({ config: { hosts: { [HOST]: ['127.0.0.1'] }, servers: [dns.address] } }, [
        'evil.test',
      ]);
      const answer = await asked(side.path, tunnel(side.port, 'evil.test'));
      assert.match(answer, /^HTTP\/1\.1 403 EGRESS_DENIED.*not outside of the house; .*allowPrivate: \["evil\.test"\]/);
      assert.ok(answer.includes(`leads to ${addresses[0]!.slice(0, 6)}`), answer);
      assert.equal(side.sockets.size, 0);
      await side.fine();
    });

  it('is looked up once for each connection, and the checked address is the connected one', async () => {
    let times = 0;
    await using dns = await nameServer({ 'moves.test': () => [times++ < 2 ? '127.0.0.1' : '192.168.1.7'] });
    const config = { hosts: { [HOST]: ['127.0.0.1'] }, servers: [dns.address], allowPrivate: ['moves.test'] };
    await using side = await two({ config }, ['moves.test']);
    using client = new Client(side.path).say(tunnel(side.port, 'MOVES.test.'));
    assert.match(await client.until('\r\n\r\n'), / 200 /);
    assert.deepEqual([...dns.asked].sort(), ['A moves.test', 'AAAA moves.test']);
  });

  for (const [title, answer, expected] of [
    [
      'that is not there',
      undefined,
      /^HTTP\/1\.1 503 UNAVAILABLE: cannot reach dead\.test: its name cannot be looked up: ENOTFOUND/,
    ],
    ['with an answer that is none', 'garbage', /^HTTP\/1\.1 50[34] /],
    ['on which the servers are silent', 'silent', /^HTTP\/1\.1 50[34] /],
  ] as const)
    it(`${title} is told so in time, and keeps no other request waiting`, async () => {
      await using dns = await nameServer(answer === undefined ? {} : { 'dead.test': answer });
      const config = { hosts: { [HOST]: ['127.0.0.1'] }, servers: [dns.address], resolveMs: 400 };
      await using side = await two({ config }, ['dead.test']);
      const clients = Array.from({ length: 20 }, () => asked(side.path, tunnel(side.port, 'dead.test')));
      await side.fine();
      const answers = await Promise.all(clients);
      const busy = answers.filter((one) => one.startsWith('HTTP/1.1 429 BUSY'));
      assert.ok(busy.length <= 12, `${busy.length} of 20 were told to wait`);
      for (const one of answers) if (!busy.includes(one)) assert.match(one, expected);
    });

  it('with sixty addresses that do not answer is given up after four', async () => {
    const addresses = Array.from({ length: 60 }, (_, at) => `127.0.1.${at + 1}`);
    await using dns = await nameServer({ 'many.test': addresses });
    const config = { hosts: { [HOST]: ['127.0.0.1'] }, servers: [dns.address], allowPrivate: ['*'] };
    await using side = await two({ config }, ['many.test']);
    assert.match(await asked(side.path, tunnel(side.port, 'many.test')), /^HTTP\/1\.1 503 UNAVAILABLE.*ECONNREFUSED/);
    await side.fine();
  });
});
