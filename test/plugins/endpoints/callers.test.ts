/** What a caller of each bus gets when its own time is over, through the whole device. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { base64, OPERATOR, startBuses } from '../../fixtures/bus-core.ts';

after(leakCheck());

const SLOW_MS = 2_500;
const with_ = (...handles: readonly object[]) => ({ version: '^1.0.0', config: { handles } });
const PLUGINS = {
  spi: with_({ name: 'one', endpoint: 'spi1', cs: 0, speed: 125_000, mode: 0, deadlineMs: 5_000 }),
  i2c: with_({ name: 'one', endpoint: 'i2c0', address: 0x50, deadlineMs: 5_000 }),
  gpio: with_({ name: 'one', endpoint: 'gpio0', line: 0, direction: 'out' }),
  uart: with_({ name: 'one', endpoint: 'uart0', baud: 115_200 }),
  can: with_({ name: 'one', endpoint: 'can0', nominal: 500_000, mode: 'loopback' }),
  pio: with_({ name: 'one', endpoint: 'pio0', machine: 0 }),
};
/** A call of each bus, and how long its endpoint makes it wait: GPIO, CAN and PIO have limits of a second. */
const CALLS = [
  ['spi.transfer', { tx: base64(1), rxLen: 1 }, 'spi1', SLOW_MS],
  ['i2c.transfer', { tx: base64(0), rxLen: 1 }, 'i2c0', SLOW_MS],
  ['gpio.write', { value: 1 }, 'gpio0', 800],
  ['uart.write', { tx: base64(65) }, 'uart0', 400],
  ['can.send', { id: 1 }, 'can0', 800],
  ['pio.load', { program: [0] }, 'pio0', 800],
] as const;

it('a caller of any bus is answered when its own time is over, with the known state of it', async () => {
  await using device = await startBuses(PLUGINS);
  await Promise.all(
    CALLS.map(async ([name, params, endpoint, ms]) => {
      const call = { handle: 'one', ...params };
      await device.call(name, call);
      await device.sim.ask({ slow: { endpoint, ms } });
      // A busy machine may make the first one late; what became of it is no concern of this test.
      const first = device.call(name, call).catch((error: CoreError) => error.code);
      const { code, details } = await device.refusal(name, call, OPERATOR, 100);
      assert.deepEqual([code, details.clock], ['TIMEOUT', 'caller'], name);
      // The bridge may be slow to say that it had not begun.
      assert.match(String(details.executed), /^(no|unknown)$/, name);
      await first;
    }),
  );
});

it('eight transfers on one handle are all done, though each waits longer than it may take itself', async () => {
  const handle = { name: 'one', endpoint: 'spi1', cs: 0, speed: 125_000, mode: 0, deadlineMs: 1_000 };
  await using device = await startBuses({ spi: with_(handle) });
  await device.sim.ask({ slow: { endpoint: 'spi1', ms: 300 } });
  const all = Array.from({ length: 8 }, () => device.call('spi.transfer', { handle: 'one', tx: base64(7), rxLen: 1 }));
  for (const answer of await Promise.all(all)) assert.deepEqual(answer, { rx: base64(7) });
});
