import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type PioLoaded, type PioRegisters, pio } from '@device-core/plugin-api/services/pio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { APP, eventually, startBuses } from '../../fixtures/bus-core.ts';

after(leakCheck());

const HANDLES = [
  { name: 'a', endpoint: 'pio0', machine: 0 },
  { name: 'b', endpoint: 'pio0', machine: 1 },
];
const GPIO = {
  version: '^1.0.0',
  config: {
    handles: [
      { name: 'out', endpoint: 'gpio0', line: 0, direction: 'out' },
      { name: 'in', endpoint: 'gpio0', line: 8, direction: 'in' },
    ],
  },
};
const start = (grants?: readonly string[]) =>
  startBuses({ pio: { version: '^1.0.0', config: { handles: HANDLES } }, gpio: GPIO }, grants);

/** pull block; out pins, 1; jmp 0 */
const OUT = [0x80a0, 0x6001, 0x0000];
/** pull block; mov isr, ~osr; push block */
const INVERT = [0x80a0, 0xa0cf, 0x8020];
/** irq 2; jmp 1 */
const INTERRUPT = [0xc002, 0x0001];
const ONE_OUT_PIN = 1 << 20;

describe('pio', () => {
  it('runs a program that drives a line', async () => {
    await using device = await start();
    const { slot } = await device.call<{ slot: number }>('pio.load', { handle: 'a', program: OUT });
    await device.call('pio.configure', { handle: 'a', slot, pinctrl: ONE_OUT_PIN });
    await device.call('pio.enable', { handle: 'a', enabled: true });
    for (const word of [1, 0, 1]) {
      await device.call('pio.write', { handle: 'a', words: [word] });
      await eventually(`level ${word}`, async () =>
        (await device.call<{ value: number }>('gpio.read', { handle: 'in' })).value === word ? true : undefined,
      );
    }
  });

  it('carries words both ways, two programs beside each other', async () => {
    await using device = await start();
    const first = await device.call<{ slot: number; origin: number }>('pio.load', { handle: 'a', program: OUT });
    const second = await device.call<{ slot: number; origin: number }>('pio.load', {
      handle: 'b',
      program: INVERT,
      origin: 3,
    });
    assert.notEqual(first.origin, second.origin);
    await device.call('pio.configure', { handle: 'b', slot: second.slot });
    await device.call('pio.enable', { handle: 'b', enabled: true });
    const words = [0, 1, 0xdead_beef, 0xffff_ffff];
    await device.call('pio.write', { handle: 'b', words });
    assert.deepEqual(await device.call('pio.read', { handle: 'b', count: 4 }), {
      words: words.map((word) => ~word >>> 0),
    });
    await device.call('pio.write', { handle: 'b', words: [0x12], width: 1 });
    assert.deepEqual(await device.call('pio.read', { handle: 'b', count: 1, width: 1 }), { words: [0xed] });
  });

  it('runs a program that is text, with side set, wrap and labels', async () => {
    await using device = await start();
    const source = `
      .program mirror ; a bit of each word drives the line
      .define public BITS 1
      .side_set 1 opt
          nop side 0          // runs once
      .wrap_target
      public again:
          pull
          out x, BITS
          jmp !x, low /* a comma is allowed */
          jmp again side 1
      low:
          nop side 0 [3]
      .wrap
      % c-sdk { $ code of another language %}`;
    const loaded = await device.call<PioLoaded & PioRegisters>('pio.load', { handle: 'a', source });
    assert.deepEqual(loaded.names, { BITS: 1, again: 1 });
    const { slot, execctrl, pinctrl } = loaded;
    await device.call('pio.configure', { handle: 'a', slot, execctrl, pinctrl });
    await device.call('pio.enable', { handle: 'a', enabled: true });
    for (const word of [1, 0, 1, 1, 0]) {
      await device.call('pio.write', { handle: 'a', words: [word] });
      await eventually(`level ${word}`, async () =>
        (await device.call<{ value: number }>('gpio.read', { handle: 'in' })).value === word ? true : undefined,
      );
    }
    const same = await device.core.service(pio).loadSource('b', '.origin 2\nset x, 1');
    assert.equal(same.origin, 2);
  });

  it('tells of interrupts', async () => {
    await using device = await start();
    const heard: number[] = [];
    using _listener = device.core.service(pio).onInterrupt('a', (flags) => void heard.push(flags));
    const { slot } = await device.call<{ slot: number }>('pio.load', { handle: 'a', program: INTERRUPT });
    await device.call('pio.configure', { handle: 'a', slot });
    await device.call('pio.enable', { handle: 'a', enabled: true });
    await eventually('the interrupt', () => (heard.length > 0 ? true : undefined));
    assert.deepEqual(heard, [4]);
  });

  it('ends a transfer that the machine does not take at its deadline', async () => {
    await using device = await start();
    const error = await device.refusal('pio.read', { handle: 'a', count: 1 }, undefined, 200);
    assert.equal(error.code, 'TIMEOUT');
  });

  it('refuses wrong requests, and names the fault', async () => {
    await using device = await start(['bridges.pio:b']);
    const REFUSED = [
      ['pio.load', { handle: 'a', program: [] }, 'PARAMS_INVALID', /program/],
      ['pio.load', { handle: 'a', program: [0x1_0000] }, 'PARAMS_INVALID', /program/],
      ['pio.load', { handle: 'a' }, 'PARAMS_INVALID', /either program or source/],
      ['pio.load', { handle: 'a', program: OUT, source: 'nop' }, 'PARAMS_INVALID', /either program or source/],
      ['pio.load', { handle: 'a', source: 'nop\nset x, 32' }, 'PARAMS_INVALID', /line 2: the value 32/],
      ['pio.load', { handle: 'a', program: OUT, origin: 30 }, 'TRANSFER_FAILED', /NO_MEMORY/],
      ['pio.configure', { handle: 'a', slot: 9 }, 'TRANSFER_FAILED', /INVALID/],
      ['pio.write', { handle: 'a', words: [256], width: 1 }, 'PARAMS_INVALID', /does not fit into 1 bytes/],
      ['pio.enable', { handle: 'none', enabled: true }, 'HANDLE_NOT_FOUND', /PIO handle none/],
    ] as const;
    for (const [name, params, code, message] of REFUSED) {
      const error = await device.refusal(name, params);
      assert.equal(error.code, code, name);
      assert.match(error.message, message);
    }
    assert.equal((await device.refusal('pio.enable', { handle: 'a', enabled: true }, APP)).code, 'CAPABILITY_DENIED');
  });
});
