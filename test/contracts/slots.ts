/** What every provider of `slots` does, whoever writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlotName } from '@device-core/plugin-api/inside/boot-record';
import type { Machine } from '@device-core/plugin-api/inside/services/machine';
import type { Slots, SlotsStatus, StageProgress } from '@device-core/plugin-api/inside/services/slots';

export interface ImageWish {
  readonly version: string;
  /** What is wrong with it. */
  readonly wrong?: 'signature' | 'content' | 'platform';
}

export interface SlotsBench extends AsyncDisposable {
  readonly slots: Slots;
  readonly machine: Machine;
  /** An image folder that this provider takes, unless something is wrong with it. */
  image(wish: ImageWish): Promise<string>;
  /** The loader chooses and starts again; the members above are those of the new start. */
  reboot(): Promise<void>;
  /** Resolves when staging has begun; it goes on when what it gives is called. Absent where nothing can hold it. */
  held?(): Promise<() => void>;
  /** False where whoever has the slots does not say so: RAUC knows no floor of ours. */
  readonly floors?: boolean;
}

const code = (code: string) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, code, String(error));
  return true;
};
const other = (slot: SlotName | undefined): SlotName => (slot === 'a' ? 'b' : 'a');
const slotOf = ({ slots }: SlotsStatus, name: SlotName) => slots.find((one) => one.name === name);

/** `open` gives a device that runs version 1.0.0 from slot a, which is good, with an empty slot b. */
export function slotsContract(open: () => Promise<SlotsBench>): void {
  test('says what runs, what starts next, and that the other slot is empty', async () => {
    await using bench = await open();
    const status = await bench.slots.status();
    assert.equal(status.booted, 'a');
    assert.equal(status.primary, 'a');
    assert.equal(status.rung, 'normal');
    assert.deepEqual(
      status.slots.map(({ name, state, booted, primary }) => ({ name, state, booted, primary })),
      [
        { name: 'a', state: 'good', booted: true, primary: true },
        { name: 'b', state: 'empty', booted: false, primary: false },
      ],
    );
    assert.equal(slotOf(status, 'a')?.version, '1.0.0');
  });

  test('says which forms of state the images know, or that it is not known', async () => {
    await using bench = await open();
    const count = () =>
      bench.slots.stateForms().then(
        ({ length }) => length,
        (error) => code('SLOTS_UNAVAILABLE')(error) && undefined,
      );
    const first = await count();
    await bench.slots.stage(await bench.image({ version: '1.1.0' }));
    assert.deepEqual([first, await count()], first === undefined ? [undefined, undefined] : [1, 2]);
  });

  test('looks into an image without a change', async () => {
    await using bench = await open();
    const before = await bench.slots.status();
    const { version, image } = await bench.slots.inspect(await bench.image({ version: '1.1.0' }));
    assert.equal(version, '1.1.0');
    assert.match(image, /^sha256:[0-9a-f]{64}$/);
    await assert.rejects(bench.slots.inspect(`${await bench.image({ version: '1.1.0' })}/nowhere`), (error) =>
      ['SYSTEM_IMAGE_INVALID', 'SLOTS_UNAVAILABLE'].includes((error as { code: string }).code),
    );
    assert.deepEqual(await bench.slots.status(), before);
  });

  for (const [wrong, refusal] of [
    ['signature', 'SIGNATURE_INVALID'],
    ['platform', 'SYSTEM_IMAGE_INVALID'],
  ] as const)
    test(`refuses an image with another ${wrong} before anything is written`, async () => {
      await using bench = await open();
      const before = await bench.slots.status();
      const folder = await bench.image({ version: '1.1.0', wrong });
      await assert.rejects(bench.slots.inspect(folder), code(refusal));
      await assert.rejects(bench.slots.stage(folder), code(refusal));
      assert.deepEqual(await bench.slots.status(), before);
    });

  test('stages an image: the other slot is on trial, and the running one starts next all the same', async () => {
    await using bench = await open();
    const told: StageProgress[] = [];
    const folder = await bench.image({ version: '1.1.0' });
    const slot = await bench.slots.stage(folder, { progress: (one) => void told.push(one) });
    assert.equal(slot.name, 'b');
    assert.equal(slot.state, 'trial');
    assert.equal(slot.version, '1.1.0');
    assert.equal(slot.primary, false);
    for (const [at, { done, of }] of told.entries())
      assert.ok(done <= of && done >= (told[at - 1]?.done ?? 0), `progress ${JSON.stringify(told)}`);
    const status = await bench.slots.status();
    assert.equal(status.primary, 'a');
    await bench.reboot();
    assert.equal((await bench.slots.status()).booted, 'a');
  });

  test('an image whose content is not what it says leaves the other slot without any, and the running one as it was', async () => {
    await using bench = await open();
    const folder = await bench.image({ version: '1.1.0', wrong: 'content' });
    await assert.rejects(bench.slots.stage(folder), code('SYSTEM_IMAGE_INVALID'));
    const status = await bench.slots.status();
    assert.equal(slotOf(status, 'b')?.state, 'empty');
    assert.equal(slotOf(status, 'a')?.state, 'good');
    await assert.rejects(bench.slots.activate('b'), code('SLOTS_UNAVAILABLE'));
    assert.equal((await bench.slots.stage(await bench.image({ version: '1.1.0' }))).state, 'trial');
  });

  test('stages once at a time, and ends when it is told', async (t) => {
    await using bench = await open();
    if (!bench.held) return t.skip('nothing holds it here');
    const folder = await bench.image({ version: '1.1.0' });
    const holding = bench.held();
    const control = new AbortController();
    const first = bench.slots.stage(folder, { signal: control.signal });
    first.catch(() => undefined);
    const go = await holding;
    await assert.rejects(bench.slots.stage(folder), code('BUSY'));
    control.abort();
    go();
    await assert.rejects(first, code('CANCELLED'));
    assert.equal(slotOf(await bench.slots.status(), 'b')?.state, 'empty');
    assert.equal((await bench.slots.stage(folder)).state, 'trial');
  });

  test('activates what was staged: it runs after a restart, and is good when it is said to be', async () => {
    await using bench = await open();
    await assert.rejects(bench.slots.activate('b'), code('SLOTS_UNAVAILABLE'));
    await bench.slots.stage(await bench.image({ version: '1.1.0' }));
    await bench.slots.activate('b');
    assert.equal((await bench.slots.status()).primary, 'b');
    assert.equal((await bench.slots.status()).booted, 'a');
    await bench.reboot();
    const trial = await bench.slots.status();
    assert.equal(trial.booted, 'b');
    assert.equal(slotOf(trial, 'b')?.state, 'trial');
    await bench.slots.markGood();
    const good = await bench.slots.status();
    assert.equal(slotOf(good, 'b')?.state, 'good');
    assert.equal(slotOf(good, 'a')?.state, 'good');
    if (bench.floors === false) return;
    assert.equal(good.floor.version, '1.1.0');
    await assert.rejects(
      bench.slots.stage(await bench.image({ version: '1.0.9' })),
      code('SYSTEM_IMAGE_INVALID'),
      'older than the floor',
    );
    // By hand the former one may come back: it is there, and was good.
    await bench.slots.activate('a');
    await bench.reboot();
    assert.equal((await bench.slots.status()).booted, 'a');
  });

  test('goes back when the slot that runs is bad, and says why', async () => {
    await using bench = await open();
    await bench.slots.stage(await bench.image({ version: '1.1.0' }));
    await bench.slots.activate('b');
    await bench.reboot();
    await bench.slots.markBad('the gate: http failed');
    const status = await bench.slots.status();
    assert.equal(slotOf(status, 'b')?.state, 'bad');
    assert.equal(status.primary, other(status.booted));
    if (bench.floors !== false) assert.match(slotOf(status, 'b')?.reason ?? '', /http failed/);
    await assert.rejects(bench.slots.activate('b'), code('SLOTS_UNAVAILABLE'));
    await bench.reboot();
    assert.equal((await bench.slots.status()).booted, 'a');
  });

  test('stays where it is when there is nothing to go back to', async () => {
    await using bench = await open();
    const before = await bench.slots.status();
    await assert.rejects(bench.slots.markBad('a mood'), code('SLOTS_UNAVAILABLE'));
    assert.deepEqual(await bench.slots.status(), before);
  });

  test('a staged image that was activated can be replaced before it ever ran: the running one starts next until then', async () => {
    await using bench = await open();
    await bench.slots.stage(await bench.image({ version: '1.1.0' }));
    await bench.slots.activate('b');
    await bench.slots.stage(await bench.image({ version: '1.2.0' }));
    const status = await bench.slots.status();
    assert.equal(status.primary, 'a');
    assert.equal(slotOf(status, 'b')?.version, '1.2.0');
  });

  test('says what the machine can do, and refuses the rest with its reason', async () => {
    await using bench = await open();
    const { acts, reason } = await bench.machine.able();
    for (const act of ['restart', 'reboot', 'powerOff'] as const) {
      if (acts.includes(act)) continue;
      assert.ok(reason, `why ${act} cannot be done`);
      await assert.rejects(bench.machine.act(act), code('SLOTS_UNAVAILABLE'));
    }
  });
}
