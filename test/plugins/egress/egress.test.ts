/** What an app reaches by its way out, what it is told otherwise, and what is written down. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { EgressRefusal } from '@device-core/plugin-api/inside/services/egress';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { APP, asked, Client, echo, HOST, listening, start, tunnel } from './started.ts';

after(leakCheck());

describe('a host that was granted by name', () => {
  it('is reached by a tunnel that is written down before and counted afterwards', async () => {
    const { host, service, book } = await start();
    await using _host = host;
    await using server = await listening(echo);
    const hosts = [{ host: HOST, ports: [server.port] }];
    const { path } = await service.open({ ...APP, hosts });
    assert.equal(path, `${host.device.paths.run}/apps/agenda/egress.sock`);
    const { mode } = statSync(path);
    assert.equal(mode & 0o777, 0o600);
    using client = new Client(path);
    client.say(tunnel(server.port));
    assert.equal(await client.until('\r\n\r\n'), 'HTTP/1.1 200 Connection established\r\n\r\n');
    assert.deepEqual(
      (await book.list()).map(({ part, for: sender, to, what }) => [part, sender, to, what]),
      [['egress', 'app.com.a', `${HOST}:${server.port}`, 'connection']],
    );
    client.heard = '';
    client.say('hello');
    assert.equal(await client.until('hello'), 'hello');
    client.socket.end();
    await client.closed;
    const none = async () => (await service.usage())[0]?.open === 0;
    await eventually(none, 'no open connection');
    assert.deepEqual(await service.usage(), [{ app: APP.id, open: 0, sent: 5, received: 5, refused: 0 }]);
    await service.close(APP.id);
    assert.deepEqual([...book.bytes], [['0', 10]]);
    assert.throws(() => statSync(path), { code: 'ENOENT' });
    await service.close(APP.id);
  });

  it('is reached by a plain request, as a whole and in its own words', async () => {
    const { host, service } = await start();
    await using _host = host;
    let came = '';
    await using server = await listening((socket) => {
      socket.on('data', (bytes) => {
        came += bytes.toString('latin1');
        if (!came.endsWith('0\r\n\r\n')) return;
        socket.end('HTTP/1.1 201 Made\r\nX-One: 1\r\nX-One: 2\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone');
      });
    });
    const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [server.port] }] });
    const answer = await asked(
      path,
      `POST http://API.test:${server.port}/a%20b?c=d HTTP/1.1\r\nHost: evil.test\r\nX-Mine: yes\r\nProxy-Authorization: secret\r\nConnection: x-drop\r\nX-Drop: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 201 Made\r\n/);
    assert.match(answer, /X-One: 1\r\nX-One: 2\r\n.*\r\n\r\ndone$/s);
    assert.match(came, new RegExp(`^POST /a%20b\\?c=d HTTP/1\\.1\r\nHost: ${HOST}:${server.port}\r\nX-Mine: yes\r\n`));
    assert.match(came, /\r\n\r\n4\r\nbody\r\n0\r\n\r\n$/);
    assert.doesNotMatch(came, /evil|secret|x-drop/i);
  });

  it('is cut at once when it is taken back, and others are not', async () => {
    const { host, service } = await start({
      config: { hosts: { [HOST]: ['127.0.0.1'], 'b.test': ['127.0.0.1'] } },
      grants: [`network.outbound:${HOST}`, 'network.outbound:b.test'],
    });
    await using _host = host;
    await using server = await listening(echo);
    const ports = [server.port];
    const both = [
      { host: HOST, ports },
      { host: 'b.test', ports },
    ];
    const { path } = await service.open({ ...APP, hosts: both });
    using first = new Client(path).say(tunnel(server.port));
    using second = new Client(path).say(tunnel(server.port, 'b.test'));
    for (const client of [first, second]) assert.match(await client.until('\r\n\r\n'), / 200 /);
    assert.equal((await service.open({ ...APP, hosts: both.slice(1) })).path, path);
    await first.closed;
    await eventually(() => server.sockets.size === 1, 'one connection that is left');
    second.heard = '';
    assert.equal(await second.say('still').until('still'), 'still');
    assert.match(await asked(path, tunnel(server.port)), /^HTTP\/1\.1 403 EGRESS_DENIED/);
    await service.close(APP.id);
    await second.closed;
  });

  it('is not reached where nothing can be written down before', async () => {
    for (const [there, refuses, status] of [
      [false, undefined, '503 SERVICE_MISSING'],
      [true, new CoreError('STORAGE_FULL', { file: 'x', what: 'x', reason: 'x' }), '507 STORAGE_FULL'],
    ] as const) {
      const { host, service, book } = await start({ ledger: there });
      await using _host = host;
      book.refuses = refuses;
      await using server = await listening(echo);
      const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [server.port] }] });
      assert.match(await asked(path, tunnel(server.port)), new RegExp(`^HTTP/1\\.1 ${status}`));
      assert.equal(server.sockets.size, 0);
      if (there) continue;
      await host.appear(ledger, book);
      using client = new Client(path).say(tunnel(server.port));
      assert.match(await client.until('\r\n\r\n'), / 200 /);
    }
  });

  it('has one line for many connections, so that a loop neither waits for the disk nor wears it out', async () => {
    const { host, service, book } = await start();
    await using _host = host;
    await using server = await listening(echo);
    const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [server.port] }] });
    for (let round = 0; round < 5; round++) {
      using client = new Client(path).say(tunnel(server.port));
      assert.match(await client.until('\r\n\r\n'), / 200 /);
    }
    assert.equal(book.lines.length, 1);
  });
});

describe('a refusal', () => {
  it('names the line of the manifest, in the first line of the answer, in the log of the app and in why', async () => {
    const { host, service, said } = await start();
    await using _host = host;
    const told: EgressRefusal[] = [];
    using _listener = service.onRefusal((refusal) => void told.push(refusal));
    const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [443] }] });
    const other = await asked(path, tunnel(443, 'other.test'));
    const line =
      'EGRESS_DENIED: com.a may not reach other.test:443: it does not hold network.outbound:other.test; grant it with "capabilities: [{ id: "network.outbound:other.test", reason: ... }] in app.yaml"';
    assert.ok(other.startsWith(`HTTP/1.1 403 ${line}\r\n`), other);
    const body = JSON.parse(other.slice(other.indexOf('\r\n\r\n')));
    assert.deepEqual([body.ok, body.error], [false, line]);
    const port = await asked(path, tunnel(8443));
    assert.match(port, /may not reach api\.test:8443: it was not granted port 8443 there; .*ports: \[8443\], reason/);
    for (let round = 0; round < 5; round++) await asked(path, tunnel(8443));
    await eventually(() => told.length === 2 && said.length === 2, 'two refusals');
    assert.deepEqual(
      told.map(({ app, to, code }) => [app, to, code]),
      [
        [APP.id, 'other.test:443', 'EGRESS_DENIED'],
        [APP.id, `${HOST}:8443`, 'EGRESS_DENIED'],
      ],
    );
    assert.equal(said[0], `agenda: ${line}`);
    const why = await eventually(async () => {
      const all = await host.grants.refusals();
      return all.length === 2 && all;
    }, 'refusals in why');
    assert.deepEqual(
      why.map(({ capability, hint }) => [capability, hint]),
      [
        [`network.outbound:${HOST}:8443`, `ports: [8443] beside id: network.outbound:${HOST} in app.yaml`],
        [
          'network.outbound:other.test',
          'capabilities: [{ id: network.outbound:other.test, reason: ... }] in app.yaml and grants: { com.a: ["network.outbound:other.test"] } in the SKU',
        ],
      ],
    );
    assert.equal((await service.usage())[0]?.refused, 7);
  });

  it('is also the answer where the kernel does not hold what a supervisor names', async () => {
    const { host, service } = await start({ grants: [] });
    await using _host = host;
    const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [443] }] });
    assert.match(
      await asked(path, tunnel(443)),
      /^HTTP\/1\.1 403 EGRESS_DENIED: .*does not hold network\.outbound:api/,
    );
  });
});
