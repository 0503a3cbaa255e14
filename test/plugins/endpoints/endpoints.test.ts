import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  type EndpointEvent,
  type Endpoints,
  endpoints,
  type SourceView,
} from '@device-core/plugin-api/services/endpoints';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/endpoints/index.ts';
import { FakeSource } from '../../fixtures/fake-source.ts';

const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/endpoints.yaml');
const BYTE = new Uint8Array(1);

after(leakCheck());

class Started implements AsyncDisposable {
  readonly host: TestHost;
  readonly service: Endpoints;

  constructor(host: TestHost) {
    this.host = host;
    this.service = host.service(endpoints);
  }

  /** A source that is up, with a byte that each of its endpoints answers. */
  async source(name: string, answers: Readonly<Record<string, number>>, up = true) {
    const entries = Object.entries(answers).map(([endpoint, byte]) => [endpoint, () => Uint8Array.of(byte)]);
    const source = new FakeSource(name, Object.fromEntries(entries));
    if (up) source.up();
    const served = this.service.serve(source);
    await this.host.settle();
    return { source, served };
  }

  async ask(endpoint: string): Promise<number | string> {
    try {
      return (await this.service.request(endpoint, 1, BYTE))[0]!;
    } catch (error) {
      assert.ok(error instanceof CoreError);
      return String(error.details.status ?? error.code);
    }
  }

  async health(): Promise<ComponentHealth> {
    const { promise, resolve } = Promise.withResolvers<ComponentHealth>();
    // The kernel tells of the walls around a plugin in a process, too.
    const add = (name: string, health: ComponentHealth) => name === 'endpoints' && resolve(health);
    const report = { add, bridge: () => undefined, warn: () => undefined };
    await this.host.hook('health.collect').promise(report);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host[Symbol.asyncDispose]();
  }
}

const start = async () => new Started(await createTestHost(plugin, { manifest: MANIFEST }));

describe('endpoints', () => {
  it('lists the endpoints of all sources and sends each request to its own', async () => {
    await using device = await start();
    await device.source('bridge', { i2c0: 1, spi0: 2 });
    await device.source('host-i2c', { 'i2c-1': 3 });
    assert.deepEqual(
      (await device.service.list()).map(({ name, where, source }) => [name, where, source]),
      [
        ['i2c0', 'bridge', 'bridge'],
        ['spi0', 'bridge', 'bridge'],
        ['i2c-1', 'host', 'host-i2c'],
      ],
    );
    assert.deepEqual(
      [await device.ask('spi0'), await device.ask('i2c-1'), await device.ask('can0')],
      [2, 3, 'NO_ENDPOINT'],
    );
  });

  it('says NOT_INITIALIZED without a source of endpoints, and in the words of a source that is not up yet', async () => {
    await using device = await start();
    const refused = (reason: RegExp) =>
      assert.rejects(device.service.request('spi0', 1, BYTE), (error: CoreError) => {
        assert.equal(error.code, 'NOT_INITIALIZED');
        return reason.test(error.message);
      });
    await refused(/no IO bridge is connected/);
    const { source, served } = await device.source('bridge', { spi0: 1 }, false);
    await refused(/it has not begun/);
    source.up();
    await device.host.settle();
    assert.equal(await device.ask('spi0'), 1);
    source.down('the wire is cut');
    await refused(/the wire is cut/);
    await served[Symbol.asyncDispose]();
    await refused(/no IO bridge is connected/);
    assert.equal(source.listeners, 0);
  });

  it('tells who watches of every change, with the whole', async () => {
    await using device = await start();
    const told: string[] = [];
    const shown = (views: readonly SourceView[]) =>
      views.map(
        (view) => `${view.source} ${view.state === 'up' ? view.endpoints.map(({ name }) => name) : view.reason}`,
      );
    const watching = device.service.onChange((views) => void told.push(shown(views).join(', ')));
    await device.host.settle();
    const { source, served } = await device.source('bridge', { spi0: 1 });
    source.down('out');
    source.up(['spi0', 'gpio0']);
    await device.host.settle();
    await served[Symbol.asyncDispose]();
    await device.host.settle();
    assert.deepEqual(told, ['', 'bridge spi0', 'bridge out', 'bridge spi0,gpio0', '']);
    watching[Symbol.dispose]();
    await device.source('bridge', { spi0: 1 });
    assert.equal(told.length, 5);
  });

  it('leaves a name with the source that had it first, and says so', async () => {
    await using device = await start();
    const first = await device.source('bridge', { i2c0: 1 });
    const second = await device.source('host-i2c', { i2c0: 2, 'i2c-1': 3 });
    assert.equal(await device.ask('i2c0'), 1);
    assert.deepEqual(
      (await device.service.list()).map(({ name }) => name),
      ['i2c0', 'i2c-1'],
    );
    const { status, code, message } = await device.health();
    assert.deepEqual([status, code], ['error', 'ENDPOINT_EXISTS']);
    assert.match(message ?? '', /i2c0 \(host-i2c\)/);
    first.source.down('out');
    await device.host.settle();
    assert.equal(await device.ask('i2c0'), 'NOT_INITIALIZED', 'an outage does not hand it over');
    await first.served[Symbol.asyncDispose]();
    second.source.up();
    await device.host.settle();
    assert.equal(await device.ask('i2c0'), 2);
    assert.equal((await device.health()).status, 'okay');
  });

  it('takes one source of a name at a time', async () => {
    await using device = await start();
    const { served } = await device.source('bridge', { spi0: 1 });
    await assert.rejects(
      async () => device.service.serve(new FakeSource('bridge', {})),
      (error: CoreError) => error.code === 'ENDPOINT_EXISTS',
    );
    await served[Symbol.asyncDispose]();
    await device.source('bridge', { spi0: 4 });
    assert.equal(await device.ask('spi0'), 4);
  });

  it('hands on events of sources that come and go, and of the owner of a name alone', async () => {
    await using device = await start();
    const heard: number[] = [];
    const listening = device.service.onEvent('gpio0', ({ op }: EndpointEvent) => void heard.push(op));
    await device.host.settle();
    const first = await device.source('bridge', { gpio0: 1 });
    const second = await device.source('host-gpio', { gpio0: 2 });
    first.source.tell('gpio0', { op: 0x81 });
    second.source.tell('gpio0', { op: 0x82 });
    await device.host.settle();
    assert.deepEqual(heard, [0x81]);
    await first.served[Symbol.asyncDispose]();
    assert.equal(first.source.listeners, 0);
    second.source.up();
    await device.host.settle();
    second.source.tell('gpio0', { op: 0x83 });
    await device.host.settle();
    assert.deepEqual(heard, [0x81, 0x83]);
    listening[Symbol.dispose]();
    await device.host.settle();
    second.source.tell('gpio0', { op: 0x84 });
    await device.host.settle();
    assert.deepEqual(heard, [0x81, 0x83]);
  });
});
