/** An update on two real folders: found good by the device itself, and taken back where its maker's own judge says no. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { steadyMs } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { SlotDevice } from '../fixtures/slot-device.ts';

after(leakCheck());

const OPERATOR = { kind: 'operator', id: 'operator' } as const;

interface Status {
  readonly state: string;
  readonly reason?: string;
  readonly running: { readonly slot?: string; readonly version?: string };
}

/** A plugin of an OEM, whose judge knows one version that it does not like. */
function judge(root: string): string {
  const folder = join(root, 'judge');
  mkdirSync(folder, { recursive: true });
  const manifest = ['id: judge', 'version: 1.0.0', 'summary: Judges updates', 'api: ^1.0.0', 'main: index.js'];
  writeFileSync(join(folder, 'plugin.yaml'), `${[...manifest, 'taps: [update.judge]'].join('\n')}\n`);
  const code = "({ version }) => { if (version === '1.2.0') throw new Error('the kettle is cold'); }";
  writeFileSync(
    join(folder, 'index.js'),
    `export const plugin = { setup(host) { host.tap('update.judge', ${code}); } };\n`,
  );
  return folder;
}

class Box implements AsyncDisposable {
  readonly slots = new SlotDevice();
  #core: Core | undefined;

  async start(): Promise<void> {
    const { root, places } = this.slots;
    this.#core = await startCore({
      root: join(root, 'device'),
      plugins: {
        operations: '^1.0.0',
        system: '^1.0.0',
        updater: '^1.0.0',
        'slots-files': '^1.0.0',
        judge: { version: '*', path: judge(root), isolation: 'inline' },
      },
      config: {
        'slots-files': { ...places, helper: 'inline' },
        updater: { probationMs: 200, keepFreeMB: 0 },
      },
    });
  }

  /** The Core ends, the loader chooses, and it starts. */
  async restart(): Promise<void> {
    await this.#core?.stop();
    this.slots.start();
    await this.start();
  }

  run(name: string, params: object = {}): Promise<Status> {
    const call = { caller: OPERATOR, signal: new AbortController().signal, deadline: steadyMs() + 60_000 };
    return this.#core?.service(operations).invoke(`update.${name}`, params, call) as Promise<Status>;
  }

  becomes(state: string, reason = /(?:)/): Promise<Status> {
    return eventually(
      async () => {
        const status = await this.run('status');
        assert.equal(status.state, state, JSON.stringify(status));
        assert.match(status.reason ?? '', reason);
        return status;
      },
      `state ${state}`,
      { ms: 10_000, every: 50 },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#core?.stop();
    this.slots[Symbol.dispose]();
  }
}

describe('an update on two real folders', () => {
  it('goes through, and the next one comes back with the reason of the judge', async () => {
    await using box = new Box();
    await box.start();
    await box.run('install', { source: box.slots.image('1.1.0') });
    // Nobody starts this Core again but the test.
    await box.becomes('activating', /^it is taken with the next restart/);
    assert.equal(box.slots.record.slots.b.state, 'trial');
    assert.equal(box.slots.problem('b'), undefined);
    await box.restart();
    const good = await box.becomes('good');
    assert.deepEqual([good.running.slot, good.running.version], ['b', '1.1.0']);
    assert.equal(box.slots.record.floor.version, '1.1.0');

    await box.run('install', { source: box.slots.image('1.2.0') });
    await box.becomes('activating', /^it is taken/);
    await box.restart();
    await box.becomes('rolled-back', /^judge: .*the kettle is cold/);
    assert.equal(box.slots.record.slots.a.state, 'bad');
    await box.restart();
    const back = await box.becomes('rolled-back');
    assert.deepEqual([back.running.slot, back.running.version], ['b', '1.1.0']);
    assert.equal(box.slots.record.slots.b.state, 'good');
  });

  it('refuses an image with a foreign signature, before a byte of it is fetched', async () => {
    await using box = new Box();
    await box.start();
    const other = new SlotDevice();
    try {
      await assert.rejects(box.run('install', { source: other.image('1.1.0') }), { code: 'SIGNATURE_INVALID' });
      assert.equal(box.slots.record.slots.b.state, 'empty');
      assert.equal((await box.run('status')).state, 'idle');
    } finally {
      other[Symbol.dispose]();
    }
  });
});
