/** The sources of endpoints that there are, each against the one contract. */
import { describe } from 'node:test';
import { virtualClock } from '@device-core/plugin-api/testing';
import { type DeviceEars, HostBus } from '../../../plugins/hardware/shared/host/host-bus.ts';
import { refusal } from '../../../plugins/hardware/shared/host/status.ts';
import { endpointSourceContract, type SourceUnderTest } from '../../contracts/endpoint-source.ts';
import { openLab } from '../../fixtures/bridge-lab.ts';
import { FakeSource } from '../../fixtures/fake-source.ts';
import { part } from '../../fixtures/scope.ts';

const READ = { op: 0x01, body: Uint8Array.of(0xff, 0, 0, 0), answer: new Uint8Array(4) };

async function fake(): Promise<SourceUnderTest> {
  let stalled = false;
  const source = new FakeSource('host-gpio', {
    gpio9: (op) => (op !== READ.op ? undefined : stalled ? new Promise(() => undefined) : READ.answer),
    talker: () => undefined,
  });
  source.up();
  return {
    source,
    good: { endpoint: 'gpio9', ...READ },
    talking: { endpoint: 'talker', speak: async () => queueMicrotask(() => source.tell('talker')) },
    unplug: async (reason) => source.down(reason),
    plug: async () => source.up(),
    async replace() {
      source.down('another one comes');
      source.forget();
      source.up();
    },
    async stall() {
      stalled = true;
    },
    run: (work) => work,
    async [Symbol.asyncDispose]() {
      if (source.listeners > 0) throw new Error('a listener was left');
    },
  };
}

async function overTheBridge(): Promise<SourceUnderTest> {
  const lab = await openLab();
  const LINE = 20;
  await lab.run(lab.io.gpioConfigure('gpio0', { line: LINE, direction: 'in', edge: 'both' }));
  let level: 0 | 1 = 0;
  return {
    source: lab.source,
    good: { endpoint: 'gpio0', ...READ },
    talking: {
      endpoint: 'gpio0',
      async speak() {
        level = level ? 0 : 1;
        lab.bridge.gpio('gpio0')!.drive(LINE, level);
      },
    },
    unplug: async (reason) => lab.port.unplug(reason),
    async plug() {
      lab.port.broken = undefined;
    },
    replace: async () => lab.replace(),
    async stall() {
      lab.bridge.endpoint('gpio0')!.slowMs = 60_000;
    },
    run: (work) => lab.run(work, 60_000),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

/** A bus of the host whose device is a function, on a virtual clock. */
async function ofTheHost(): Promise<SourceUnderTest> {
  const clock = virtualClock();
  const own = part(clock);
  const gate: { stalled: boolean; absent: string | undefined; boot: number; ears: DeviceEars | undefined } = {
    stalled: false,
    absent: undefined,
    boot: 1,
    ears: undefined,
  };
  const bus = new HostBus({
    plugin: 'host-gpio',
    endpoint: 'pins',
    path: '/dev/gpiochip0',
    class: 1,
    maxTransfer: 8,
    scope: own.scope,
    log: own.log,
    open(ears) {
      if (gate.absent !== undefined) throw new Error(gate.absent);
      gate.ears = ears;
      return {
        boot: String(gate.boot),
        request(op) {
          if (op !== READ.op) throw refusal('pins', 'UNSUPPORTED');
          return gate.stalled ? new Promise(() => undefined) : READ.answer;
        },
        close: () => undefined,
      };
    },
  });
  own.scope.use('bus', bus);
  await bus.start();
  await clock.advance(1);
  const unplug = async (reason: string) => {
    gate.absent = reason;
    gate.ears?.gone(reason);
  };
  return {
    source: bus,
    good: { endpoint: 'pins', ...READ },
    talking: {
      endpoint: 'pins',
      speak: async () => queueMicrotask(() => gate.ears?.tell({ op: 0x80, data: new Uint8Array(4) })),
    },
    unplug,
    async plug() {
      gate.absent = undefined;
      await clock.advance(1_000);
    },
    async replace() {
      await unplug('another one comes');
      gate.boot++;
      gate.absent = undefined;
    },
    async stall() {
      gate.stalled = true;
    },
    run: (work) => clock.until(work),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

describe('a bus of the host as a source', () => endpointSourceContract(ofTheHost));
describe('a source in memory', () => endpointSourceContract(fake));
describe('the bridge as a source', () => endpointSourceContract(overTheBridge));
