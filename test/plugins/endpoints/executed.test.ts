/** What a failure of each bus says of what was done, and that nobody repeats what may have been. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError, type PluginDefinition, type ServiceRef } from '@device-core/plugin-api';
import { executedByStatus, executedIn, saysExecuted } from '@device-core/plugin-api/buses';
import { type EndpointRequestOptions, endpoints } from '@device-core/plugin-api/services/endpoints';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { operations } from '@device-core/plugin-api/services/operations';
import { pio } from '@device-core/plugin-api/services/pio';
import { spi } from '@device-core/plugin-api/services/spi';
import { uart } from '@device-core/plugin-api/services/uart';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { STATUS } from '../../../plugins/hardware/cbp/status.ts';
import { plugin as i2cPlugin } from '../../../plugins/hardware/i2c/index.ts';
import { plugin as pioPlugin } from '../../../plugins/hardware/pio/index.ts';
import { Type2Tag } from '../../../plugins/hardware/pn532/type2.ts';
import { plugin as spiPlugin } from '../../../plugins/hardware/spi/index.ts';
import { plugin as uartPlugin } from '../../../plugins/hardware/uart/index.ts';

after(leakCheck());

const NOTHING = { [Symbol.dispose]: () => undefined, [Symbol.asyncDispose]: async () => undefined };
const version = { major: 1, minor: 0 };
const BYTE = Uint8Array.of(1);

type Answer = (op: number, body: Uint8Array, options: EndpointRequestOptions) => Promise<Uint8Array>;

interface Bus {
  readonly id: string;
  readonly plugin: PluginDefinition;
  readonly class: number;
  readonly handle: object;
  /** The operation of CBP that the work comes down to. */
  readonly op: number;
  readonly work: (service: <T>(ref: ServiceRef<T>) => T) => Promise<unknown>;
}

const BUSES: readonly Bus[] = [
  {
    id: 'spi',
    plugin: spiPlugin as never,
    class: 3,
    handle: { cs: 0, speed: 1_000, mode: 0 },
    op: 1,
    work: (service) => service(spi).transfer('one', BYTE, 1),
  },
  {
    id: 'i2c',
    plugin: i2cPlugin as never,
    class: 2,
    handle: { address: 0x50 },
    op: 1,
    work: (service) => service(i2c).transfer('one', [{ write: BYTE }]),
  },
  {
    id: 'uart',
    plugin: uartPlugin as never,
    class: 4,
    handle: { baud: 9_600 },
    op: 2,
    work: (service) => service(uart).write('one', BYTE),
  },
  {
    id: 'pio',
    plugin: pioPlugin as never,
    class: 5,
    handle: { machine: 0 },
    op: 4,
    work: (service) => service(pio).write('one', [1]),
  },
];

async function open(bus: Bus, answer: Answer) {
  const asked: number[] = [];
  const endpoint = { name: 'x0', class: bus.class, version, maxInflight: 4, maxTransfer: 4_096, boot: '1' };
  const host = await createTestHost(bus.plugin, {
    manifest: join(import.meta.dirname, `../../../manifests/plugins/hardware/${bus.id}.yaml`),
    config: { handles: [{ name: 'one', endpoint: 'x0', ...bus.handle }] },
    services: [
      given(operations, { add: () => NOTHING, addStream: () => NOTHING }),
      given(endpoints, {
        list: async () => [],
        onEvent: () => NOTHING,
        serve: () => NOTHING,
        onChange(listener) {
          listener([{ source: 'bridge', where: 'bridge', state: 'up', endpoints: [endpoint] }]);
          return NOTHING;
        },
        async request(_name, op, body, options = {}) {
          if (op !== bus.op) return new Uint8Array(4);
          asked.push(op);
          return answer(op, body, options);
        },
      }),
    ],
  });
  await host.settle();
  const outcome = async () => {
    const error = await bus
      .work((ref) => host.service(ref))
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    assert.ok(error instanceof CoreError, 'it should have failed');
    return error;
  };
  return { host, asked, outcome };
}

/** Of what an endpoint says: the code, what it tells of the work, and how often the endpoint was asked (where BUSY may be asked again). */
const SAID: readonly (readonly [said: CoreError, executed: string])[] = [
  ...Object.keys(STATUS)
    .filter((status) => !['OK', 'TIMEOUT', 'CANCELLED', 'LINK_DOWN'].includes(status))
    .map((status) => [new CoreError('BRIDGE_FAILED', { endpoint: 'x0', status }), executedByStatus(status)] as const),
  [new CoreError('BRIDGE_FAILED', { endpoint: 'x0', status: 'LINK_RESET', executed: 'no' }), 'no'],
  [new CoreError('BRIDGE_FAILED', { endpoint: 'x0', status: '0x42' }), 'unknown'],
  [new CoreError('TIMEOUT', { what: 'it', ms: 1, clock: 'caller', executed: 'no' }), 'no'],
  [new CoreError('TIMEOUT', { what: 'it', ms: 1 }), 'unknown'],
  [new CoreError('NOT_INITIALIZED', { reason: 'the link is down' }), 'no'],
  [new CoreError('BUSY', { what: 'it', limit: 256 }), 'no'],
  [new CoreError('SERVICE_REVOKED', { service: 'endpoints', plugin: 'endpoints' }), 'unknown'],
];

for (const bus of BUSES)
  describe(`a failure of ${bus.id}`, () => {
    it('says what was done, and was asked for once, or refused before', async () => {
      let said = SAID[0]![0];
      const { host, asked, outcome } = await open(bus, () => Promise.reject(said));
      for (const [error, executed] of SAID) {
        said = error;
        asked.length = 0;
        const { code, details } = await outcome();
        assert.equal(details.executed, executed, `${code} for ${error.code} ${error.details.status}`);
        assert.ok(asked.length === 1 || (executed === 'no' && asked.length === 2), `asked ${asked.length} times`);
      }
      await host.stop();
    });

    it('says that nothing was done where no bridge is there, or its caller has no time left', async () => {
      const { host, outcome } = await open(bus, async () => new Uint8Array(4));
      await host.disappear(endpoints);
      const { code, details } = await outcome();
      assert.deepEqual([code, details.executed], ['NOT_INITIALIZED', 'no']);
      await host.stop();
    });
  });

describe('work of several pieces', () => {
  it('says of a serial line how much has left', async () => {
    const bus = BUSES.find(({ id }) => id === 'uart')!;
    let pieces = 0;
    const long = {
      ...bus,
      work: (service: Parameters<Bus['work']>[0]) => service(uart).write('one', new Uint8Array(9_000)),
    };
    const { host, outcome } = await open(long, async (_op, body) => {
      if (++pieces === 3) throw new CoreError('BRIDGE_FAILED', { endpoint: 'x0', status: 'NOT_READY' });
      const written = Buffer.alloc(4);
      written.writeUInt32LE(body.length);
      return written;
    });
    const { code, details } = await outcome();
    assert.deepEqual([code, details.executed, details.written], ['TRANSFER_FAILED', 'yes', 8_192]);
    await host.stop();
  });

  it('says of a tag that it was written to, with any end of the last piece', async () => {
    const memory = Uint8Array.of(0xfe, ...new Uint8Array(63));
    for (const good of [0, 1, 3]) {
      let puts = 0;
      const chip = {
        async exchange(_verb: string, [command = 0, page = 0]: readonly number[], expected: number) {
          if (command === 0xa2 && puts++ === good)
            throw new CoreError('NOT_INITIALIZED', { reason: 'the link is down', executed: 'no' });
          if (command === 0x30 && page === 3) return Uint8Array.of(0xe1, 0x10, 0x06, 0x00, ...new Uint8Array(12));
          return memory.slice(0, expected);
        },
      };
      const error = await new Type2Tag(chip as never, 'write', {}).write(new Uint8Array(12).fill(7)).then(
        () => assert.fail('it should have failed'),
        (thrown: unknown) => thrown,
      );
      assert.equal(executedIn(error), good === 0 ? 'no' : 'yes');
    }
  });

  it('an answer that was left out says that the rest was done', async () => {
    const bus = BUSES.find(({ id }) => id === 'uart')!;
    const { host, outcome } = await open(bus, async () => new Uint8Array(0));
    assert.equal((await outcome()).details.executed, 'yes');
    await host.stop();
  });

  it('an error that is not of the table stays what it is', () => {
    const bug = new TypeError('x is not a function');
    assert.equal(saysExecuted(bug, 'yes'), bug);
    assert.equal(executedIn(bug), 'unknown');
  });
});
