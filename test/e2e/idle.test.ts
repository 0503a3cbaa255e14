/** What a device does for itself while nobody asks anything of it: on the virtual clock, in timers that fire. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

/** Counts the timers that fire. */
class CountingClock extends VirtualClock {
  fired = 0;

  override at(time: number, fn: () => void): Disposable {
    return super.at(time, () => {
      this.fired++;
      fn();
    });
  }

  /** Timers that fire in so many seconds of quiet. */
  async quiet(seconds: number): Promise<number> {
    const before = this.fired;
    await this.advance(seconds * 1_000);
    return this.fired - before;
  }
}

const FRONT_ENDS = {
  operations: '*',
  identity: '*',
  system: '*',
  http: '*',
  limits: '*',
  rpc: '*',
  events: '*',
  functions: '*',
};

describe('an idle device', () => {
  it('has no timer for clients while there are none, and none any more when they have gone', async () => {
    const clock = new CountingClock();
    await using core = await startCore({ plugins: FRONT_ENDS, clock });
    await clock.advance(60_000); // the first looks at what a start left behind
    assert.equal(await clock.quiet(60), 0);
    const socket = connect(join(core.paths.run, 'core.sock'));
    await eventually(() => clock.pending > 0, 'somebody is looked after');
    assert.ok((await clock.quiet(10)) >= 10);
    socket.destroy();
    await eventually(async () => (await clock.quiet(10)) === 0, 'nobody is looked after');
  });
});
