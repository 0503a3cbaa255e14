/** What the host does about a wire that loses packets, and about what the bridge tells of itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Logger } from '@device-core/plugin-api';
import { LAB_BOARD, type Lab, openLab } from '../../fixtures/bridge-lab.ts';

const MINUTE = 60_000;

async function busy(lab: Lab, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await lab.run(lab.io.gpioRead('gpio0', 1));
}

function memory(): { readonly lines: string[]; readonly log: Logger } {
  const lines: string[] = [];
  const level =
    (name: string) =>
    (fields: object, message: string): void =>
      void lines.push(`${name} ${message} ${JSON.stringify(fields)}`);
  return { lines, log: { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') } };
}

describe('clock of the wire', () => {
  it('goes down a step at a time while more than 5 % of 256 packets are bad, and no lower than 1 MHz', async () => {
    const { lines, log } = memory();
    await using lab = await openLab({ host: { log } });
    assert.equal(lab.host.link.khz, 8000);
    lab.faults = { bitErrorRate: 2e-4, seed: 5 };
    const seen = new Set<number>();
    for (let rounds = 0; rounds < 40 && lab.host.link.khz > 1000; rounds++) {
      await busy(lab, 50);
      seen.add(lab.host.link.khz);
    }
    assert.deepEqual([...seen], [8000, 4000, 2000, 1000]);
    await busy(lab, 600);
    assert.equal(lab.port.speedHz, 1_000_000);
    assert.equal((await lab.service.health()).clockStepsDown, 3);
    assert.equal(lines.filter((line) => line.includes('slower now')).length, 3);
  });

  it('is tried one step faster after ten minutes without losses, and steps down at once where that is too fast', async () => {
    const { log } = memory();
    await using lab = await openLab({ host: { log } });
    lab.faults = { bitErrorRate: 2e-4, seed: 5 };
    for (let rounds = 0; rounds < 40 && lab.host.link.khz > 4000; rounds++) await busy(lab, 50);
    lab.faults = {};
    await busy(lab, 300);
    await lab.clock.advance(9 * MINUTE);
    await busy(lab, 10);
    assert.equal(lab.host.link.khz, 4000);
    await lab.clock.advance(2 * MINUTE);
    await busy(lab, 10);
    assert.equal(lab.host.link.khz, 8000);
    lab.faults = { bitErrorRate: 3e-4, seed: 6 };
    for (let rounds = 0; rounds < 20 && lab.host.link.khz > 4000; rounds++) await busy(lab, 50);
    assert.equal(lab.host.link.khz, 4000);
  });

  it('stays where it is when a few packets are lost', async () => {
    await using lab = await openLab();
    lab.faults = { bitErrorRate: 5e-6, seed: 2 };
    await busy(lab, 800);
    assert.equal(lab.host.link.khz, 8000);
    assert.equal((await lab.service.health()).clockStepsDown, undefined);
  });
});

describe('counters of a bridge about itself', () => {
  it('goes to the log with its level, at most ten lines a second', async () => {
    const { lines, log } = memory();
    await using lab = await openLab({ host: { log } });
    lab.bridge.announce(0x81, Buffer.from('\x02regulator is warm', 'latin1'));
    await lab.clock.advance(100);
    assert.deepEqual(
      lines.filter((line) => line.includes('the bridge says')),
      ['warn the bridge says: regulator is warm {}'],
    );
    await lab.clock.advance(1_000);
    for (let index = 0; index < 30; index++) {
      lab.bridge.announce(0x81, Buffer.from(`\x01line ${index}`, 'latin1'));
      await lab.clock.advance(2);
    }
    await lab.clock.advance(1_000);
    lab.bridge.announce(0x81, Buffer.from('\x01last', 'latin1'));
    await lab.clock.advance(100);
    const said = lines.filter((line) => line.startsWith('info the bridge says'));
    assert.equal(said.length, 11);
    assert.equal(said.at(-1), 'info the bridge says: last {"suppressed":20}');
  });

  it('marks an endpoint that is away, until it is back or the session is another', async () => {
    const { log } = memory();
    await using lab = await openLab({ host: { log } });
    const away = async () => (await lab.service.health()).endpoints as Record<string, { readonly away?: boolean }>;
    lab.bridge.announce(0x80, Uint8Array.of(2, 0));
    await lab.clock.advance(100);
    assert.equal((await away()).spi0?.away, true);
    assert.equal((await away()).spi1?.away, undefined);
    lab.bridge.announce(0x80, Uint8Array.of(2, 1));
    await lab.clock.advance(100);
    assert.equal((await away()).spi0?.away, undefined);
  });
});

describe('a bridge whose table changes with a reset', () => {
  it('has the endpoints of the new table, by their labels, and names those that are gone', async () => {
    const { log } = memory();
    await using lab = await openLab({ host: { log } });
    const [gpio, , spi1] = LAB_BOARD.endpoints;
    lab.replace({ ...LAB_BOARD, endpoints: [spi1, gpio] });
    const { promise, resolve } = Promise.withResolvers<void>();
    using _watch = lab.host.onLink((state) => {
      if (state === 'up') resolve();
    });
    await lab.run(promise, 10_000);
    assert.deepEqual(
      lab.host.rows?.map(({ name }) => name),
      ['sys', ...[spi1, gpio].map(({ label }) => label)],
    );
    assert.equal(await lab.run(lab.io.gpioRead('gpio0', 0)), 0);
    const transfer = { cs: 0, mode: 0, speedHz: 1_000_000, tx: Uint8Array.of(1), rxLength: 1 } as const;
    await assert.rejects(lab.run(lab.io.spixTransfer('spi0', transfer)), /spi0/);
  });
});
