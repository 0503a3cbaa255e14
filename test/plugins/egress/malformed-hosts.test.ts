/** Hosts that answer against the rules: the app gets an answer, the plugin goes on, and another app never notices. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { CUT, type HostAnswer, MALFORMED, RARE } from '../../fixtures/malformed-answers.ts';
import { APP, asked, Client, echo, HOST, listening, OTHER, start, type TestServer, tunnel } from './started.ts';

after(leakCheck());

/** One host that answers what `say` says, and a second app whose tunnel stays open through all rows. */
class World implements AsyncDisposable {
  readonly #started: Awaited<ReturnType<typeof start>>;
  readonly #servers: readonly TestServer[];
  readonly path: string;
  readonly innocent: Client;
  readonly say: { bytes: string; whole?: (socket: Socket) => void };
  readonly #port: number;

  private constructor(
    started: Awaited<ReturnType<typeof start>>,
    servers: readonly TestServer[],
    { path, innocent, say }: { path: string; innocent: Client; say: World['say'] },
  ) {
    this.#started = started;
    this.#servers = servers;
    this.#port = servers[0]!.port;
    this.path = path;
    this.innocent = innocent;
    this.say = say;
  }

  static async make(): Promise<World> {
    const started = await start();
    const say: World['say'] = { bytes: '' };
    const host = await listening((socket) => {
      socket.once('data', () => (say.whole ? say.whole(socket) : socket.end(say.bytes, 'latin1')));
    });
    const echoing = await listening(echo);
    const { path } = await started.service.open({ ...APP, hosts: [{ host: HOST, ports: [host.port] }] });
    const other = await started.service.open({ ...OTHER, hosts: [{ host: HOST, ports: [echoing.port] }] });
    const innocent = new Client(other.path).say(tunnel(echoing.port));
    assert.match(await innocent.until('\r\n\r\n'), / 200 /);
    return new World(started, [host, echoing], { path, innocent, say });
  }

  ask(method = 'GET', ...headers: readonly string[]): Promise<string> {
    const lines = [`${method} http://${HOST}:${this.#port}/ HTTP/1.1`, 'Host: x', ...headers, '', ''];
    return asked(this.path, lines.join('\r\n'));
  }

  /** The open tunnel of the other app carries bytes, and nothing of this app is left open. */
  async fine(): Promise<void> {
    this.innocent.heard = '';
    assert.equal(await this.innocent.say('still there').until('there'), 'still there');
    const open = async () => (await this.#started.service.usage()).find(({ app }) => app === APP.id)?.open === 0;
    await eventually(open, 'no open connection of the app');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.innocent[Symbol.dispose]();
    await this.#started.host[Symbol.asyncDispose]();
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
  }
}

describe('a host that answers', () => {
  let world: World;
  before(async () => {
    world = await World.make();
  });
  after(() => world[Symbol.asyncDispose]());

  const bodyOf = (answer: string) => {
    const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
    if (!/transfer-encoding: chunked/i.test(head)) return body;
    return [...body.matchAll(/(?:^|\r\n)[0-9a-f]+\r\n(.*?)(?=\r\n)/gs)].map(([, piece]) => piece).join('');
  };
  const answers = async ({ bytes }: HostAnswer) => {
    world.say.bytes = bytes;
    const answer = await world.ask();
    await world.fine();
    return answer;
  };
  for (const row of MALFORMED)
    it(`${row.title}: the app is refused with a reason`, async () => {
      assert.match(await answers(row), /^HTTP\/1\.1 (502 ANSWER_INVALID|503 UNAVAILABLE): cannot .{10}/);
    });
  for (const row of RARE)
    it(`${row.title}: the app gets all of it`, async () => {
      const answer = await answers(row);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${row.passed} `));
      assert.equal(bodyOf(answer), row.body);
    });
  for (const row of CUT)
    it(`${row.title}: the app gets the head, and no end`, async () => {
      const answer = await answers(row);
      assert.match(answer, /^(HTTP\/1\.1 200 |$)/);
      assert.doesNotMatch(answer, /\r\n0\r\n\r\n$/);
    });

  it('a status out of range names it, and so does a phrase', async () => {
    const refused = async (text: string) => answers({ title: '', bytes: `HTTP/1.1 ${text}\r\n\r\n` });
    assert.match(await refused('000 x'), new RegExp(`^HTTP/1.1 502 ANSWER_INVALID: .* of ${HOST}:\\d+: .*status is 0`));
    assert.match(await refused('200 a\x07'), /^HTTP\/1\.1 502 ANSWER_INVALID: .*control characters/);
  });

  it('a length of its body in the words of HEAD: no body follows', async () => {
    world.say.bytes = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n';
    assert.match(await world.ask('HEAD'), /^HTTP\/1\.1 200 OK\r\n.*Content-Length: 5\r\n.*\r\n\r\n$/s);
    await world.fine();
  });

  for (const expectation of ['200-ok', '100-continue', 'x'.repeat(1_000)])
    it(`an app that expects ${expectation.slice(0, 20)}: the host decides, and the connection ends`, async () => {
      world.say.bytes = 'HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno';
      const answer = await world.ask('GET', `Expect: ${expectation}`);
      assert.match(answer, /^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 417 No\r\n/);
      await world.fine();
    });

  it('a length and resets the connection behind it: the app gets what came', async () => {
    world.say.whole = (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', () => socket.resetAndDestroy());
    const answer = await world.ask();
    delete world.say.whole;
    assert.match(answer, /^HTTP\/1\.1 (200 .*ok$|503 UNAVAILABLE)/s);
    await world.fine();
  });
});

describe('the last bytes of a host that has gone', () => {
  for (const size of [240 << 10, 2 << 20])
    it(`wait for an app that does not read no longer than a connection may be idle: ${size >> 10} KiB`, async () => {
      const clock = virtualClock();
      const { host, service } = await start({ clock });
      await using _host = host;
      await using server = await listening((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(size)}`));
      });
      const { path } = await service.open({ ...APP, hosts: [{ host: HOST, ports: [server.port] }] });
      using client = new Client(path).say(`GET http://${HOST}:${server.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
      client.socket.pause();
      const received = async () => (await service.usage())[0]?.received ?? 0;
      await eventually(async () => (await received()) > 100_000, 'as much as waits on the way');
      const over = async () => {
        await clock.advance(600_000);
        return (await service.usage())[0]?.open === 0;
      };
      await eventually(over, 'no open connection');
    });
});
