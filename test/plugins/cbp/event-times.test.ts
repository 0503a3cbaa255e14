/** When something happened, as users of an endpoint are told it: the microseconds of the wire are still there. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import { type Lab, openLab } from '../../fixtures/bridge-lab.ts';

const LINE = 20;

async function edges(lab: Lab, pausesUs: readonly number[]): Promise<readonly EndpointEvent[]> {
  await lab.run(lab.io.gpioConfigure('gpio0', { line: LINE, direction: 'in', edge: 'both' }));
  const heard: EndpointEvent[] = [];
  using _listening = lab.source.onEvent('gpio0', (event) => void heard.push(event));
  let level: 0 | 1 = 0;
  for (const pause of [0, ...pausesUs]) {
    await lab.clock.advance(pause / 1_000);
    level = level ? 0 : 1;
    lab.bridge.gpio('gpio0')!.drive(LINE, level);
  }
  await lab.clock.advance(50);
  return heard;
}

it('the microseconds between two events are those of the wire', async () => {
  await using lab = await openLab();
  // The clocks of both ends are known after a PING.
  await lab.clock.advance(3_000);
  const pauses = [1, 137, 999, 1_001, 4_321];
  const heard = await edges(lab, pauses);
  assert.equal(heard.length, pauses.length + 1);
  const between = (what: 'atUs' | 'timestampUs') =>
    heard.slice(1).map((event, index) => event[what] - heard[index]![what]);
  for (const what of ['atUs', 'timestampUs'] as const)
    between(what).forEach((us, index) => {
      // A clock that is read between two microseconds, twice.
      assert.ok(Math.abs(us - pauses[index]!) <= 1, `${what}: ${us} for ${pauses[index]}`);
    });
  for (const { at, atUs } of heard) {
    assert.equal(Math.round(atUs / 1_000), at);
    assert.ok(Number.isSafeInteger(atUs));
  }
});
