/** The warden gives back what guests left before a reset. Without a systemd. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { wardenOf } from '../../systemd/helpers/warden/warden.ts';
import { WardenDevice as Device } from '../fixtures/warden-device.ts';

after(leakCheck());

const ROOT = resolve(import.meta.dirname, '../..');
const WITHOUT_ROOT = process.getuid?.() === 0 ? false : 'files are given away by root alone';

describe('remains of guests before a reset', { skip: WITHOUT_ROOT }, () => {
  const CORE = 900;
  const lay = (device: Device, path: string, uid: number, mode = 0o700): string => {
    const folder = join(device.config.state, 'remains', path);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'file'), 'x', { mode: 0o600 });
    for (const each of [join(folder, 'file'), folder]) chownSync(each, uid, uid);
    chmodSync(folder, mode);
    return folder;
  };
  const reclaim = (device: Device) => wardenOf({ config: device.config, core: CORE, files: device.files, bus: '' });

  test("becomes the Core's by its folders alone, so that the Core can remove it; no file changes hands", async () => {
    await using device = new Device();
    const app = lay(device, 'of-x/apps/com.example.agenda/data', 40_001);
    const deep = lay(device, 'of-x/apps/com.example.agenda/data/a/b', 40_001, 0);
    const plugin = lay(device, 'of-y/plugins/weather', 50_001, 0o500);
    assert.equal(await reclaim(device)('{"verb":"reclaim"}'), '{"ok":true}');
    for (const folder of [app, deep, plugin]) {
      const { uid, mode } = statSync(folder);
      assert.deepEqual([uid, mode & 0o7777], [CORE, 0o700], folder);
      assert.ok([40_001, 50_001].includes(statSync(join(folder, 'file')).uid));
    }
    const remains = join(device.config.state, 'remains');
    for (const path of [device.root, device.config.state]) chmodSync(path, 0o711);
    chownSync(device.config.state, CORE, CORE);
    const { status, stderr } = spawnSync('rm', ['-rf', remains], { uid: CORE, gid: CORE, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.equal(existsSync(remains), false);
  });

  test('files of others stay the same, and no link is followed', async () => {
    await using device = new Device();
    const stranger = lay(device, 'of-x/stranger', 12);
    const outside = join(device.root, 'outside');
    mkdirSync(outside);
    chownSync(outside, 40_001, 40_001);
    symlinkSync(outside, join(device.config.state, 'remains/of-x/link'));
    assert.equal(await reclaim(device)('{"verb":"reclaim"}'), '{"ok":true}');
    assert.equal(statSync(stranger).uid, 12);
    assert.equal(statSync(outside).uid, 40_001);
    rmSync(join(device.config.state, 'remains'), { recursive: true });
    symlinkSync(outside, join(device.config.state, 'remains'));
    assert.match(await reclaim(device)('{"verb":"reclaim"}'), /"refused":".*leads through a link, remains/);
    rmSync(join(device.config.state, 'remains'));
    writeFileSync(join(device.config.state, 'remains'), '');
    assert.equal(await reclaim(device)('{"verb":"reclaim"}'), '{"ok":true}');
    assert.equal(statSync(join(device.config.state, 'remains')).uid, process.getuid?.(), 'a file is no folder');
  });

  test("is tried again where it was cut off: a folder that is still root's is taken, and one too deep is given back", async () => {
    await using device = new Device();
    lay(device, 'of-x/apps/a', 0);
    const deep = lay(device, `of-y/${'d/'.repeat(300)}`, 40_001);
    const limited = `import { wardenOf } from ${JSON.stringify(join(ROOT, 'systemd/helpers/warden/warden.ts'))};
      const answer = wardenOf({ config: ${JSON.stringify(device.config)}, core: ${CORE}, files: undefined, bus: '' });
      console.log(await answer('{"verb":"reclaim"}'));`;
    const { stdout } = spawnSync('prlimit', ['--nofile=128', process.execPath, '--input-type=module', '-e', limited], {
      encoding: 'utf8',
    });
    assert.match(stdout, /"failed":"EMFILE/);
    const owners = new Set<number>();
    for (let at = deep.replace(/\/$/, ''); at.length > device.config.state.length; at = join(at, '..'))
      owners.add(statSync(at).uid);
    assert.ok(owners.has(CORE));
    assert.equal(statSync(join(device.config.state, 'remains')).uid, CORE, 'nothing stays with root');
  });
});
