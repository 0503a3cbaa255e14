/** Events of endpoints that nobody listens to: they do not keep the wire busy, and they are nobody's later. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import { openLab } from '../../fixtures/bridge-lab.ts';

const LINE = 20;

async function started() {
  const lab = await openLab();
  await lab.run(lab.io.gpioConfigure('gpio0', { line: LINE, direction: 'in', edge: 'both' }));
  await lab.clock.advance(3_000);
  let level: 0 | 1 = 0;
  /** Transactions that so many edges took, one each 10 ms. */
  const edges = async (count: number) => {
    const before = lab.wire.counts.transactions;
    for (let index = 0; index < count; index++) {
      level = level ? 0 : 1;
      lab.bridge.gpio('gpio0')!.drive(LINE, level);
      await lab.clock.advance(10);
    }
    return lab.wire.counts.transactions - before;
  };
  return { lab, edges, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

it('an event without a listener is not sent any more', async () => {
  await using device = await started();
  await device.edges(300);
  const seconds = 10;
  assert.ok((await device.edges(seconds * 100)) <= 5 * seconds, 'the PINGs alone');
});

it('a new listener hears all events from then on', async () => {
  await using device = await started();
  const { lab, edges } = device;
  await edges(600);
  const heard: EndpointEvent[] = [];
  const listening = lab.source.onEvent('gpio0', (event) => void heard.push(event));
  await lab.clock.advance(50);
  assert.equal(heard.length, 0, "what the bridge had kept is nobody's");
  await edges(600);
  assert.equal(heard.length, 600);
  assert.ok(heard[0]!.lost > 0, 'some were dropped since the one before');
  listening[Symbol.dispose]();
  await edges(600);
  using _again = lab.source.onEvent('gpio0', (event) => void heard.push(event));
  await lab.clock.advance(5);
  await edges(3);
  assert.equal(heard.length, 603);
});

it('an event that the bridge kept for longer than half a round of its clock has no listener, either', async () => {
  await using device = await started();
  const { lab, edges } = device;
  await edges(600);
  for (let minute = 0; minute < 50; minute++) await lab.clock.advance(60_000);
  const heard: EndpointEvent[] = [];
  using _listening = lab.source.onEvent('gpio0', (event) => void heard.push(event));
  await lab.clock.advance(50);
  assert.equal(heard.length, 0);
  await edges(2);
  assert.equal(heard.length, 2);
});

it('an idle second is one PING: three transactions, and the bridge asks for one of them', async () => {
  await using lab = await openLab();
  await lab.clock.advance(5_500);
  let asked = 0;
  using _line = lab.port.onReady((level) => {
    if (level) asked++;
  });
  const before = lab.wire.counts.transactions;
  await lab.clock.advance(10_000);
  assert.ok(lab.wire.counts.transactions - before <= 30, `${lab.wire.counts.transactions - before}`);
  assert.ok(asked <= 10, `${asked}`);
});

it('an event that is heard is two transactions, and the bridge asks for one of them', async () => {
  await using device = await started();
  const { lab, edges } = device;
  using _listening = lab.source.onEvent('gpio0', () => undefined);
  let asked = 0;
  using _line = lab.port.onReady((level) => {
    if (level) asked++;
  });
  const transactions = await edges(100);
  assert.ok(transactions <= 2 * 100 + 3 * 2, `${transactions}`);
  assert.ok(asked <= 100 + 2, `${asked}`);
});
