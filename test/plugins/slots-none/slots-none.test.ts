import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { coreRestart } from '@device-core/plugin-api/inside/core-restart';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { isOlder } from '@device-core/plugin-api/inside/slot-files';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { type SlotsBench, slotsContract } from '../../contracts/slots.ts';
import { startCore } from '../../fixtures/core.ts';
import { FakeSlots } from '../../fixtures/fake-slots.ts';
import { testKey, writeImageFolder } from '../../fixtures/image-folder.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

describe('the slots that tests play with', () => {
  slotsContract(async (): Promise<SlotsBench> => {
    const root = mkdtempSync(join(tmpdir(), 'fake-'));
    const key = testKey();
    const fake = new FakeSlots({ keys: key.keys, acts: ['restart'] });
    fake.forms.a = {};
    let count = 0;
    return {
      slots: fake,
      machine: fake,
      async image({ version, wrong }) {
        const folder = join(root, String(++count));
        const files = { 'kernel/start.js': `run(${JSON.stringify(version)})` };
        const foreign = { os: 'linux', arch: 'sparc', libc: 'glibc' } as const;
        writeImageFolder(folder, files, wrong === 'signature' ? testKey() : key, {
          version,
          ...(wrong === 'platform' && { platform: foreign }),
        });
        if (wrong === 'content') rmSync(join(folder, 'blobs'), { recursive: true });
        return folder;
      },
      async reboot() {
        fake.start();
      },
      held() {
        const gate = Promise.withResolvers<void>();
        const begun = Promise.withResolvers<() => void>();
        fake.gate = gate.promise;
        fake.begun = () => begun.resolve(gate.resolve);
        return begun.promise;
      },
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true, force: true }),
    };
  });
});

describe('slots-none', () => {
  const PLUGINS = { operations: '^1.0.0', system: '^1.0.0', 'slots-none': '^1.0.0' };

  test('says calmly that there are no slots, and refuses what needs them with the way to them', async () => {
    await using core = await startCore({ plugins: PLUGINS });
    const service = core.service(slots);
    const status = await service.status();
    assert.deepEqual(status, { provider: 'none', slots: [], rung: 'normal', floor: { time: 0 }, writer: 'none' });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => service.inspect('/nowhere'),
      () => service.stage('/nowhere'),
      () => service.activate('a'),
      () => service.markGood(),
      () => service.markBad('a mood'),
    ];
    for (const call of calls)
      await assert.rejects(call(), (error) => {
        assert.ok(error instanceof CoreError && error.code === 'SLOTS_UNAVAILABLE', String(error));
        assert.match(error.message, /install an image/);
        return true;
      });
    assert.equal((await core.kernel.status()).state, 'ok');
  });

  test('a Core without a supervisor does not end itself', async () => {
    await using core = await startCore({ plugins: PLUGINS });
    const service = core.service(machine);
    const { acts, reason } = await service.able();
    assert.deepEqual(acts, []);
    assert.match(reason ?? '', /by hand/);
    for (const act of ['restart', 'reboot', 'powerOff'] as const)
      await assert.rejects(service.act(act), { code: 'SLOTS_UNAVAILABLE' });
  });
});

test('a Core ends itself under a supervisor, when its answer has gone out', async () => {
  for (const [env, supervised] of [
    [{}, false],
    [{ NOTIFY_SOCKET: '' }, false],
    [{ NOTIFY_SOCKET: '/run/systemd/notify' }, true],
    [{ DEVICE_BOOT: '/run/device-boot/boot.json' }, true],
  ] as const)
    assert.equal(coreRestart(part().scope, env).supervised, supervised);
  const clock = virtualClock();
  await using holder = part(clock);
  let ends = 0;
  coreRestart(holder.scope, {}, () => {
    ends++;
  }).begin();
  assert.equal(ends, 0);
  await clock.advance(1_000);
  assert.equal(ends, 1);
});

test('which version is older', () => {
  const order = [
    ...['0.9.9', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11'],
    ...['1.0.0-rc.1', '1.0.0', '1.0.1', '1.2.0', '1.10.0', '2.0.0'],
    '10000000000000000000.0.0',
    '10000000000000000001.0.0',
  ];
  for (const [at, one] of order.entries())
    for (const [place, two] of order.entries()) assert.equal(isOlder(one, two), at < place, `${one} < ${two}`);
  assert.equal(isOlder('1.0.0+a', '1.0.0+b'), false);
});
