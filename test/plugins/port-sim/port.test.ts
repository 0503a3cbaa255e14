/** Costs a simulated bridge as a process of its own for each case. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/port-sim/index.ts';
import { bridgePortContract } from '../../contracts/bridge-port.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { deviceWithBoard } from '../../fixtures/kept-board.ts';
import { SimControl } from '../../fixtures/sim-control.ts';

const MANIFEST = new URL('../../../manifests/plugins/hardware/port-sim.yaml', import.meta.url).pathname;

function start(config: object = {}): Promise<TestHost> {
  return createTestHost(plugin, { manifest: MANIFEST, config, services: [deviceWithBoard()] });
}

/** Process ids of the simulators of one device. */
function simulators(run: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${run}/cbp-sim.sock`);
      } catch (error) {
        if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
        throw error;
      }
    })
    .map(Number);
}

const until = (what: string, check: () => boolean | Promise<boolean>) => eventually(check, what);

describe('port of the simulated bridge', () => {
  describe('contract', () => {
    bridgePortContract(async () => {
      const host = await start({ transactTimeoutMs: 150 });
      const { run } = host.device.paths;
      const control = await SimControl.open(run);
      return {
        port: host.service(bridgePort),
        mute: async () => void (await control.ask({ mute: { muted: true } })),
        unplug: async () => {
          for (const pid of simulators(run)) process.kill(pid, 'SIGKILL');
          await until('the port notices', () =>
            host
              .service(bridgePort)
              .transact(new Uint8Array(64))
              .then(
                () => false,
                (error) => error.code === 'NOT_INITIALIZED',
              ),
          );
        },
        async [Symbol.asyncDispose]() {
          control[Symbol.dispose]();
          await host[Symbol.asyncDispose]();
        },
      };
    });
  });

  it('starts the simulator with the plugin and ends it with it, its socket for the owner only', async () => {
    const host = await start();
    const { run } = host.device.paths;
    assert.equal(simulators(run).length, 1);
    assert.equal(statSync(`${run}/cbp-sim.sock`).mode & 0o777, 0o600);
    await host.stop();
    assert.deepEqual(simulators(run), []);
    assert.deepEqual(host.leaks(), []);
  });

  it('starts it again after it was killed', async () => {
    await using host = await start();
    const port = host.service(bridgePort);
    const { run } = host.device.paths;
    const [first] = simulators(run);
    process.kill(first!, 'SIGKILL');
    await until('another process answers', async () => {
      const answered = await port.transact(new Uint8Array(64)).then(
        () => true,
        () => false,
      );
      return answered && simulators(run)[0] !== first;
    });
  });

  const boards: readonly [string, string | undefined, RegExp][] = [
    ['is not there', undefined, /ENOENT/],
    ['is not YAML', 'board: [', /cannot read board/],
    ['has an unknown member', 'board: x\nendpoints: [{ label: g, class: gpio, colour: red }]', /additional/],
    ['has an unknown class', 'board: x\nendpoints: [{ label: g, class: warp }]', /class/],
    ['uses a label twice', 'board: x\nendpoints: [{ label: g, class: gpio }, { label: g, class: gpio }]', /label/],
    [
      'puts a target on a chip select that is not there',
      'board: x\nendpoints: [{ label: s, class: spix, targets: [{ cs: 4, kind: echo }] }]',
      /chip select 4/,
    ],
  ];
  for (const [title, text, reason] of boards) {
    it(`fails to start with a board that ${title}`, async () => {
      const file = `/tmp/dc-board-${process.pid}.yaml`;
      if (text !== undefined) writeFileSync(file, text);
      const board = text === undefined ? '/nowhere/board.yaml' : file;
      await assert.rejects(start({ board }), (error) => error instanceof CoreError && reason.test(error.message));
    });
  }

  it('answers a control request that makes no sense with an error', async () => {
    await using host = await start();
    using control = await SimControl.open(host.device.paths.run);
    for (const request of [
      {},
      { fly: {} },
      { slow: { endpoint: 'warp', ms: 1 } },
      { silence: {} },
      { faults: { ber: 2 } },
    ]) {
      assert.equal((await control.ask(request)).ok, false, JSON.stringify(request));
    }
    assert.equal((await control.ask({ counts: {} })).ok, true);
  });
});
