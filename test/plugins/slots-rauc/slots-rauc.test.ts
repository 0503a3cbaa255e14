/** RAUC over a real bus, played by a peer that answers as RAUC 1.8 does. The real one runs in the virtual machine alone. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { type Slots, slots } from '@device-core/plugin-api/inside/services/slots';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type ImageWish, type SlotsBench, slotsContract } from '../../contracts/slots.ts';
import { startCore } from '../../fixtures/core.ts';
import { realBus, WITHOUT_DBUS } from '../../fixtures/dbus-peer.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeRauc, type PlayedBundle } from '../../fixtures/fake-rauc.ts';

after(leakCheck());

const PLUGINS = { operations: '^1.0.0', system: '^1.0.0', 'slots-rauc': '^1.0.0' };

interface RaucBench extends SlotsBench {
  readonly rauc: FakeRauc;
  readonly bus: Awaited<ReturnType<typeof realBus>>;
  bundle(played: Partial<PlayedBundle>): string;
}

async function opened(config: object = {}, present = true, state?: string): Promise<RaucBench> {
  const bus = await realBus();
  const rauc = present ? await FakeRauc.on(bus.path) : (undefined as unknown as FakeRauc);
  const root = mkdtempSync(join(tmpdir(), 'rauc-'));
  const core = await startCore({
    plugins: PLUGINS,
    config: { 'slots-rauc': { bus: bus.path, ...config } },
    ...(state !== undefined && { root: state }),
  });
  let count = 0;
  const bundle = (played: Partial<PlayedBundle>): string => {
    const folder = join(root, String(++count));
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'bundle.raucb'),
      JSON.stringify({ version: '1.1.0', compatible: 'Test device', ...played }),
    );
    return folder;
  };
  return {
    rauc,
    bus,
    bundle,
    floors: false,
    slots: core.service(slots),
    machine: core.service(machine),
    async image({ version, wrong }: ImageWish) {
      return bundle({
        version,
        ...(wrong === 'signature' && {
          refused: 'signature verification failed: unable to get local issuer certificate',
        }),
        ...(wrong === 'platform' && { compatible: 'Another device' }),
        ...(wrong === 'content' && { broken: 'Installation error: Failed to check bundle payload: digest mismatch' }),
      });
    },
    async reboot() {
      rauc.reboot();
    },
    held() {
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<() => void>();
      rauc.gate = gate.promise;
      rauc.begun = () => begun.resolve(gate.resolve);
      return begun.promise;
    },
    async [Symbol.asyncDispose]() {
      await core.stop();
      rauc?.[Symbol.dispose]();
      await bus[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Rejects so, and says why. */
const refuses = (asked: Promise<unknown>, code: string, reason: RegExp) =>
  assert.rejects(asked, (error: Error & { code?: string }) => {
    assert.equal(error.code, code, String(error));
    assert.match(error.message, reason);
    return true;
  });

describe('slots-rauc', { skip: WITHOUT_DBUS }, () => {
  slotsContract(() => opened());

  const calls = (service: Slots): readonly (() => Promise<unknown>)[] => [
    () => service.inspect('/nowhere'),
    () => service.stage('/nowhere'),
    () => service.activate('b'),
    () => service.markGood(),
    () => service.markBad('it'),
  ];

  test('without RAUC says so, and refuses what it cannot do', async () => {
    await using bench = await opened({}, false);
    const { slots: found, cause } = await bench.slots.status();
    assert.deepEqual(found, []);
    assert.match(cause ?? '', /rauc/i);
    for (const call of calls(bench.slots)) await refuses(call(), 'SLOTS_UNAVAILABLE', /rauc/i);
  });

  test('takes it up again when RAUC, or the bus, comes', async () => {
    await using bench = await opened({}, false);
    assert.deepEqual((await bench.slots.status()).slots, []);
    using rauc = await FakeRauc.on(bench.bus.path);
    assert.equal((await bench.slots.status()).booted, 'a');
    rauc[Symbol.dispose]();
    await eventually(async () => (await bench.slots.status()).slots.length === 0, 'RAUC is gone');
  });

  test('says that the bus is gone, and refuses what it cannot do', async () => {
    await using bench = await opened();
    assert.equal((await bench.slots.status()).booted, 'a');
    bench.bus.kill();
    const gone = await eventually(async () => (await bench.slots.status()).cause, 'that the bus is gone');
    assert.match(gone, /bus|closed|connect/i);
    for (const call of calls(bench.slots)) await refuses(call(), 'SLOTS_UNAVAILABLE', /./);
  });

  test('tells of a device that was not started from a slot: the calls of RAUC throw, and that is a state', async () => {
    await using bench = await opened();
    bench.rauc.throws.GetPrimary = 'Failed getting primary slot: grub backend: Unable to find primary boot slot';
    const partly = await bench.slots.status();
    assert.equal(partly.booted, 'a');
    assert.equal(partly.primary, undefined);
    assert.match(partly.cause ?? '', /primary/);
    bench.rauc.throws.GetSlotStatus = 'Failed to determine slot states: Could not find any root device';
    const { slots: found, cause } = await bench.slots.status();
    assert.deepEqual(found, []);
    assert.match(cause ?? '', /slot states/);
    await refuses(bench.slots.markGood(), 'SLOTS_UNAVAILABLE', /slot states/);
  });

  test('gives an install that never completes up, and one whose RAUC or bus goes away', async () => {
    {
      await using bench = await opened({ installMs: 1_000 });
      const holding = bench.held?.();
      const staging = refuses(bench.slots.stage(bench.bundle({})), 'SLOTS_UNAVAILABLE', /did not say in 1000 ms/);
      const go = await holding;
      await staging;
      await refuses(bench.slots.stage(bench.bundle({})), 'BUSY', /RAUC/);
      go?.();
    }
    for (const end of ['RAUC', 'bus'] as const) {
      await using bench = await opened();
      const holding = bench.held?.();
      const staging = refuses(
        bench.slots.stage(bench.bundle({})),
        'SLOTS_UNAVAILABLE',
        /went away|closed it|ECONN|gone/,
      );
      await holding;
      if (end === 'RAUC') bench.rauc[Symbol.dispose]();
      else bench.bus.kill();
      await staging;
    }
  });

  test('names what RAUC says in a text by its code', async () => {
    await using bench = await opened();
    for (const [broken, code] of [
      ['Installation error: Failed to copy: No space left on device', 'STORAGE_FULL'],
      ['Installation error: signature verification failed: self signed certificate', 'SIGNATURE_INVALID'],
      ['Installation error: Failed mounting bundle', 'SYSTEM_IMAGE_INVALID'],
    ] as const)
      await refuses(bench.slots.stage(bench.bundle({ broken })), code, /./);
    assert.equal((await bench.slots.status()).primary, 'a');
  });

  test('an image on trial is known to the next start, and to no other install', async () => {
    await using bench = await opened();
    await bench.slots.stage(bench.bundle({ version: '1.1.0' }));
    const state = async () => (await bench.slots.status()).slots.find(({ name }) => name === 'b')?.state;
    assert.equal(await state(), 'trial');
    // Somebody installs by hand: RAUC knows it as good.
    const second = bench.slots.stage(bench.bundle({ version: '1.2.0', broken: 'Installation error: it broke' }));
    await refuses(second, 'SYSTEM_IMAGE_INVALID', /it broke/);
    assert.equal(await state(), 'empty');
  });

  test('records of a newer Core about trials stay, and an update is staged all the same', async () => {
    const root = mkdtempSync(join(tmpdir(), 'rauc-newer-'));
    const file = join(root, 'var/slots-rauc/trials.json');
    const text = '{"format":2,"trials":[]}\n';
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    try {
      await using bench = await opened({}, true, root);
      await bench.slots.stage(bench.bundle({ version: '1.1.0' }));
      assert.equal((await bench.slots.status()).slots.find(({ name }) => name === 'b')?.state, 'trial');
      assert.equal(readFileSync(file, 'utf8'), text);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
