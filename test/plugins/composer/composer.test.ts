import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  type PluginManager,
  pluginManager,
  type SkuChange,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/composer/index.ts';
import { eventually, stays, turns } from '../../fixtures/eventually.ts';

const MANIFEST = 'manifests/plugins/life/composer.yaml';
const NOTHING: SkuChange = { added: [], removed: [], changed: [], affected: [], stale: [], device: false };

after(leakCheck());

/** A composer over a SKU file; `answer` is what the kernel makes of it, `applied` how often it was asked. */
async function start(answer: () => SkuChange, startedAt = Date.now()) {
  const folder = mkdtempSync(join(tmpdir(), 'sku-'));
  const file = join(folder, 'sku.yaml');
  writeFileSync(file, 'first');
  let applied = 0;
  const manager = {
    list: async () => [],
    async apply() {
      applied++;
      return answer();
    },
  } as Partial<PluginManager> as PluginManager;
  const info = { skuFile: file, startedAt } as Partial<DeviceInfo> as DeviceInfo;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { quietMs: 120 },
    services: [
      [device, { info: async () => info }],
      [pluginManager, manager],
    ],
  });
  const until = async (count: number) => {
    await eventually(() => applied >= count, `change ${count}`);
    await turns();
  };
  await host.hook('kernel.ready').promise();
  if (startedAt <= Date.now()) await until(1);
  return {
    host,
    file,
    until,
    applied: () => applied,
    async health() {
      const said: Record<string, string> = {};
      const report: HealthReport = {
        add(name, { message }) {
          if (name === 'walls') return; // of the kernel itself
          said[name] = message ?? '';
        },
        bridge: () => undefined,
        warn(code, message) {
          said[code] = message;
        },
      };
      await host.hook('health.collect').promise(report);
      return said;
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      rmSync(folder, { recursive: true });
    },
  };
}

describe('the composer', () => {
  it('looks at the file when it begins only where it may have been edited since the device read it', async () => {
    await using composer = await start(() => NOTHING, Date.now() + 120_000);
    await stays(() => composer.applied() === 0, 'a file that was left alone is not looked at again', { ms: 1_000 });
    writeFileSync(composer.file, 'second');
    await composer.until(1);
  });

  it('looks at the file once when it begins, and says what it watches', async () => {
    await using composer = await start(() => NOTHING);
    assert.deepEqual(await composer.health(), { composer: `watches ${composer.file}` });
  });

  it('applies the file after it was written, replaced, or written in many steps once', async () => {
    const change = { ...NOTHING, added: ['nfc'], changed: ['spi'], affected: ['nfc', 'spi', 'demo'] };
    await using composer = await start(() => change);
    writeFileSync(composer.file, 'second');
    await composer.until(2);
    writeFileSync(`${composer.file}.new`, 'third');
    renameSync(`${composer.file}.new`, composer.file);
    await composer.until(3);
    for (let i = 0; i < 10; i++) writeFileSync(composer.file, `step ${i}`);
    await composer.until(4);
    await stays(() => composer.applied() === 4, 'it is applied once');
    assert.deepEqual(await composer.health(), {
      composer: 'last change: added nfc; changed spi; 3 plugins restarted',
    });
  });

  it('watches every file of a family, and one that an edit extends, also where it comes later', async () => {
    await using composer = await start(() => NOTHING);
    const base = join(dirname(composer.file), 'base.yaml');
    writeFileSync(composer.file, 'extends: base.yaml');
    await composer.until(2);
    for (const [count, text] of [
      [3, 'extends: root.yaml'],
      [4, 'id: base'],
    ] as const) {
      writeFileSync(base, text);
      await composer.until(count);
    }
    writeFileSync(base, 'extends: sub/root.yaml');
    await composer.until(5);
    mkdirSync(join(dirname(base), 'sub'));
    writeFileSync(join(dirname(base), 'sub/root.yaml'), 'id: root');
    await composer.until(6);
  });

  it('says in health and log why a change was refused, with file and line, until the file is right again', async () => {
    const problems = [
      { file: 'sku.yaml', line: 3, code: 'SKU_INVALID', message: 'title must be a string', stops: 'core' },
      { file: 'sku.yaml', line: 9, code: 'SERVICE_MISSING', message: 'nobody provides x', stops: 'nothing' },
    ];
    const errors = [
      new CoreError('SKU_INVALID', { file: 'sku.yaml:3', reason: 'title must be a string', problems }),
      new CoreError('CHANGE_UNDONE', { plugin: 'spi', reason: 'plugin spi failed to start: no board' }),
    ];
    await using composer = await start(() => {
      const error = errors.shift();
      if (error) throw error;
      return NOTHING;
    });
    const refused = await eventually(async () => (await composer.health()).SKU_INVALID, 'its reason');
    assert.equal(refused, 'sku.yaml:3: title must be a string');
    assert.deepEqual(
      composer.host.logged.filter(({ level }) => level === 'error').map(({ message }) => message),
      ['the change of the SKU was refused, what ran before runs on'],
    );
    writeFileSync(composer.file, 'second');
    await composer.until(2);
    const undone = await eventually(async () => (await composer.health()).CHANGE_UNDONE, 'its reason');
    assert.match(undone, /no board; the former plugins run again/);
    writeFileSync(composer.file, 'third');
    await composer.until(3);
    await eventually(async () => !(await composer.health()).CHANGE_UNDONE, 'the end of the warning');
    assert.deepEqual(Object.keys(await composer.health()), ['composer']);
  });

  it('names plugins whose new version needs a restart of the Core', async () => {
    await using composer = await start(() => ({ ...NOTHING, changed: ['spi'], affected: ['spi'], stale: ['spi'] }));
    const warning = await eventually(() => composer.host.logged.find(({ level }) => level === 'warn'), 'the warning');
    assert.deepEqual(warning.fields, { plugins: ['spi'] });
  });

  it('does nothing where the SKU is no file', async () => {
    await using host = await createTestHost(plugin, { manifest: MANIFEST });
    await host.hook('kernel.ready').promise();
    await host.stop();
    assert.deepEqual(host.leaks(), []);
  });
});
