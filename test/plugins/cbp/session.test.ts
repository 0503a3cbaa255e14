import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Lab, Lab as LabHost, type LabOptions, openLab } from '../../fixtures/bridge-lab.ts';

const TRANSFER = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(4096), rxLength: 4096 } as const;

async function settled(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, 'it should have failed');
  return error;
}

/** Moves on until the link has been down and is up again. */
async function recovered(lab: Lab): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _watch = lab.host.onLink((state) => {
    if (state === 'up') resolve();
  });
  await lab.run(promise, 60_000);
}

describe('session', () => {
  it('opens within milliseconds and reads the endpoint table', async () => {
    await using lab = await openLab();
    assert.ok(lab.clock.now() < 10, `${lab.clock.now()} ms`);
    const names = lab.host.rows?.map(({ name, descriptor }) => [name, descriptor.class]);
    assert.deepEqual(names, [
      ['sys', 0],
      ['gpio0', 1],
      ['spi0', 3],
      ['spi1', 3],
    ]);
    const health = await lab.service.health();
    assert.deepEqual([health.link, health.state, health.transactionBytes, health.clockKhz], ['up', 'up', 256, 8000]);
  });

  const choices: readonly [string, LabOptions, Readonly<Record<string, unknown>>][] = [
    ['takes the smaller packet of the bridge', { link: { transactionBytes: 64 } }, { transactionBytes: 64 }],
    ['asks for no more than it was told to', { host: { transactionBytes: 128 } }, { transactionBytes: 128 }],
    ['keeps to the clock of the bridge', { link: { khz: 2000 } }, { clockKhz: 2000 }],
    ['keeps to its own clock', { host: { khz: 4000 } }, { clockKhz: 4000 }],
  ];
  for (const [title, options, expected] of choices) {
    it(title, async () => {
      await using lab = await openLab(options);
      const health = await lab.service.health();
      for (const [name, value] of Object.entries(expected)) assert.equal(health[name], value);
      await lab.run(lab.io.gpioRead('gpio0', 1));
    });
  }

  const resets: readonly [string, (lab: Lab) => void, RegExp][] = [
    ['the bridge resets', (lab) => lab.bridge.reset(3), /bridge restarted/],
    ['another bridge is in its place', (lab) => lab.replace(), /bridge restarted/],
    ['the bridge crashes and is back later', (lab) => lab.wire.crashAfter(1, 300), /no valid packet/],
    ['the line is dead for a while', (lab) => lab.wire.silence(700), /no valid packet/],
    ['the port fails', (lab) => lab.port.unplug('it is unplugged'), /unplugged/],
  ];
  for (const [title, break_, reason] of resets) {
    it(`ends requests in flight with LINK_RESET and recovers when ${title}`, async () => {
      await using lab = await openLab();
      const before = lab.host.link.session!.sid;
      const transfer = settled(lab.io.spixTransfer('spi1', TRANSFER));
      await lab.clock.advance(20);
      break_(lab);
      const kick = settled(lab.io.spixTransfer('spi0', { ...TRANSFER, speedHz: 8_000_000 }));
      const error = await lab.run(transfer);
      assert.equal(error.code, 'BRIDGE_FAILED');
      assert.equal(error.details.status, 'LINK_RESET');
      await lab.run(kick);
      lab.port.broken = undefined;
      await recovered(lab);
      assert.notEqual(lab.host.link.session!.sid, before);
      assert.match(JSON.stringify((await lab.service.health()).lastReset), reason);
      assert.equal(await lab.run(lab.io.gpioRead('gpio0', 0)), 0);
    });
  }

  it('refuses requests with the reason while the link is not up', async () => {
    await using lab = await openLab();
    lab.port.broken = 'it is unplugged';
    await lab.clock.advance(1500);
    const error = await settled(lab.io.gpioRead('gpio0', 1));
    assert.equal(error.code, 'NOT_INITIALIZED');
    assert.match(error.message, /the bridge link is down .*unplugged/);
    assert.equal((await lab.service.health()).link, 'down');
    lab.port.broken = undefined;
    for (let ms = 0; ms < 5_000 && lab.host.state === 'down'; ms++) await lab.clock.advance(1);
    const early = await settled(lab.io.gpioRead('gpio0', 1));
    assert.match(early.message, /the bridge link is not up yet/);
  });

  it('tries again after 100 ms, then twice as long each time, at most 5 s', async () => {
    await using lab = new LabHost();
    lab.port.broken = 'it is unplugged';
    const attempts: number[] = [];
    using _watch = lab.host.onLink((state) => {
      if (state === 'down') attempts.push(Math.round(lab.clock.now()));
    });
    await lab.clock.advance(20_000);
    const waits = attempts.slice(1).map((time, index) => time - attempts[index]!);
    assert.deepEqual(waits.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert.ok(lab.port.resets > 0, 'and pulls the reset line of a bridge that does not answer');
  });

  it('says that a bridge of another major version is incompatible, and never talks to it', async () => {
    await using lab = new LabHost({ link: { major: 2 } });
    await lab.clock.advance(5000);
    assert.equal(lab.host.state === 'up', false);
    assert.match(String(lab.host.link.reason), /incompatible: the bridge speaks version 2/);
    lab.bridge.responder.major = 1;
    await lab.up();
  });

  it('opens through noise that spoils a third of the packets', async () => {
    await using lab = await openLab({
      faults: { bitErrorRate: 5e-4, stale: 0.05, zeroed: 0.05, slipped: 0.05, seed: 4 },
    });
    assert.equal(lab.host.state, 'up');
  });

  it('PINGs an idle link and goes down when the bridge does not answer', async () => {
    await using lab = await openLab();
    await lab.clock.advance(10_000);
    const { transactions, rttUs } = await lab.service.health();
    assert.ok(Number(transactions) < 100, `${transactions} transactions in ten idle seconds`);
    assert.ok(Number(rttUs) > 500 && Number(rttUs) < 1000, `${rttUs} us`);
    lab.wire.silence(600_000);
    await lab.clock.advance(5000);
    assert.equal((await lab.service.health()).link === 'up', false);
  });

  it('sees a bridge that says it goes away', async () => {
    await using lab = await openLab();
    await lab.run(
      settled(lab.io.request('sys', 7, Uint8Array.of(0)).then(() => Promise.reject(new CoreError('INTERNAL')))),
    );
    await recovered(lab);
    assert.match(JSON.stringify((await lab.service.health()).lastReset), /goes away/);
  });

  it('is degraded while more than 1 % of the packets are bad', async () => {
    await using lab = await openLab();
    lab.faults = { bitErrorRate: 3e-4, seed: 3 };
    for (let index = 0; index < 200; index++) await lab.run(lab.io.gpioRead('gpio0', 1));
    assert.equal((await lab.service.health()).state, 'degraded');
    assert.ok(lab.states.some((state) => state.startsWith('degraded')));
    lab.faults = {};
    await lab.clock.advance(12_000);
    assert.equal((await lab.service.health()).state, 'up');
  });

  it('sets outputs to their safe values when the host is silent for the watchdog period', async () => {
    await using lab = await openLab({ link: { watchdogMs: 300 } });
    const line = { line: 3, direction: 'out', initial: 1, safe: 0 } as const;
    await lab.run(lab.io.gpioConfigure('gpio0', line));
    await lab.clock.advance(5_000);
    assert.equal(lab.bridge.gpio('gpio0')!.level(3), 1, 'the heartbeat keeps it');
    lab.wire.silence(2_000);
    await lab.clock.advance(1_500);
    assert.equal(lab.bridge.gpio('gpio0')!.level(3), 0);
  });
});
