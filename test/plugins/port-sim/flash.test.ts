import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { VirtualClock } from '@device-core/plugin-api/testing';
import { Flash, type FlashOptions } from '../../../plugins/hardware/port-sim/sim/flash.ts';

const OPTIONS: FlashOptions = {
  jedec: [0xef, 0x40, 0x14],
  size: 1 << 20,
  times: { programMs: 0.7, sectorMs: 45, blockMs: 150, chipMs: 2000 },
};

function open(options: Partial<FlashOptions> = {}) {
  const clock = new VirtualClock();
  const flash = new Flash({ ...OPTIONS, ...options }, clock);
  /** One selection: sends the bytes and returns `wanted` more. */
  const talk = (bytes: readonly number[], wanted = 0): number[] => {
    flash.select();
    flash.exchange(Uint8Array.from(bytes));
    const back = flash.exchange(new Uint8Array(wanted));
    flash.release();
    return [...back];
  };
  const address = (at: number) => [at >> 16, (at >> 8) & 0xff, at & 0xff];
  return {
    clock,
    talk,
    read: (at: number, count: number) => talk([0x03, ...address(at)], count),
    status: () => talk([0x05], 1)[0]!,
    enable: () => talk([0x06]),
    program: (at: number, data: readonly number[]) => talk([0x02, ...address(at), ...data]),
    erase: (command: number, at: number) => talk([command, ...address(at)]),
  };
}

describe('SPI NOR flash', () => {
  it('identifies itself', () => {
    assert.deepEqual(open().talk([0x9f], 4), [0xef, 0x40, 0x14, 0]);
  });

  it('reads erased cells, plain and fast, and wraps at its end', () => {
    const flash = open({ contents: [{ at: 0, bytes: Uint8Array.of(1, 2) }] });
    assert.deepEqual(flash.read(0, 3), [1, 2, 0xff]);
    assert.deepEqual(flash.talk([0x0b, 0, 0, 0, 0], 2), [1, 2]);
    assert.deepEqual(flash.read((1 << 20) - 1, 3), [0xff, 1, 2]);
  });

  it('programs only after write enable, once for each', async () => {
    const flash = open();
    flash.program(0, [1, 2, 3]);
    assert.deepEqual(flash.read(0, 1), [0xff]);
    flash.enable();
    assert.equal(flash.status(), 0b10);
    flash.program(0, [1, 2, 3]);
    assert.equal(flash.status(), 0b01, 'busy, and no longer enabled');
    await flash.clock.advance(1);
    assert.equal(flash.status(), 0);
    assert.deepEqual(flash.read(0, 4), [1, 2, 3, 0xff]);
    flash.program(0, [0]);
    assert.deepEqual(flash.read(0, 1), [1]);
  });

  it('forgets the enable with write disable', () => {
    const flash = open();
    flash.enable();
    flash.talk([0x04]);
    flash.program(0, [1]);
    assert.deepEqual(flash.read(0, 1), [0xff]);
  });

  it('clears bits only, and wraps inside the page', async () => {
    const flash = open();
    flash.enable();
    flash.program(0x1fe, [1, 2, 3, 4]);
    await flash.clock.advance(1);
    assert.deepEqual(flash.read(0x1fe, 2), [1, 2]);
    assert.deepEqual(flash.read(0x100, 2), [3, 4]);
    assert.deepEqual(flash.read(0x200, 1), [0xff]);
    flash.enable();
    flash.program(0x1fe, [0xf0, 0xff]);
    await flash.clock.advance(1);
    assert.deepEqual(flash.read(0x1fe, 2), [0, 2]);
  });

  for (const [name, command, size, ms] of [
    ['a sector', 0x20, 4096, 45],
    ['a block', 0xd8, 65_536, 150],
  ] as const) {
    it(`erases ${name} and is busy for ${ms} ms`, async () => {
      const flash = open({ contents: [0, size - 1, size].map((at) => ({ at, bytes: Uint8Array.of(7) })) });
      flash.enable();
      flash.erase(command, 5);
      await flash.clock.advance(ms - 1);
      assert.equal(flash.status() & 1, 1);
      assert.deepEqual(flash.read(0, 1), [0xff], 'it answers nothing while it is busy');
      await flash.clock.advance(2);
      assert.equal(flash.status(), 0);
      assert.deepEqual([flash.read(0, 1), flash.read(size - 1, 1), flash.read(size, 1)], [[0xff], [0xff], [7]]);
    });
  }

  it('erases the whole chip', async () => {
    const flash = open({ contents: [{ at: 999_999, bytes: Uint8Array.of(7) }] });
    flash.talk([0xc7]);
    assert.deepEqual(flash.read(999_999, 1), [7], 'not without write enable');
    flash.enable();
    flash.talk([0xc7]);
    await flash.clock.advance(2001);
    assert.deepEqual(flash.read(999_999, 1), [0xff]);
  });

  it('takes no command while it is busy but status', async () => {
    const flash = open();
    flash.enable();
    flash.program(0, [1]);
    flash.enable();
    assert.equal(flash.status(), 1);
    await flash.clock.advance(1);
    assert.equal(flash.status(), 0, 'the enable was not heard');
  });

  it('keeps its contents in a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dc-flash-'));
    try {
      const file = join(folder, 'state', 'flash.bin');
      const first = open({ file, contents: [{ at: 10, bytes: Uint8Array.of(9) }] });
      first.enable();
      first.program(0, [1, 2]);
      assert.equal(readFileSync(file).length, 1 << 20);
      assert.deepEqual(open({ file }).read(0, 3), [1, 2, 0xff]);
      assert.deepEqual(open({ file }).read(10, 1), [9]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
