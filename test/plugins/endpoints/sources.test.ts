/** The sources of endpoints that there are, each against the one contract. */
import { describe } from 'node:test';
import { endpointSourceContract, type SourceUnderTest } from '../../contracts/endpoint-source.ts';
import { openLab } from '../../fixtures/bridge-lab.ts';
import { FakeSource } from '../../fixtures/fake-source.ts';

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

describe('a source in memory', () => endpointSourceContract(fake));
describe('the bridge as a source', () => endpointSourceContract(overTheBridge));
