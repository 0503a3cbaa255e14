/** Code that the process of a plugin may read. */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { reachOf } from '../../kernel/walls/reach.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PATHS = { etc: '/etc/device', var: '/var/device', run: '/run/device' };

for (const [what, folder, shared] of [
  ['a plugin of the tree reads what its wing shares', join(ROOT, 'plugins/apps/plugin-store'), true],
  ['a plugin from outside reads nothing beside its own folder', '/var/device/plugins/chime/0.1.0+0123456789ab', false],
] as const)
  test(what, () => {
    const manifest = { id: 'guest', version: '1.0.0', api: '^1.0.0', main: 'index.ts', summary: 'a guest' };
    const { code } = reachOf(manifest, join(folder, 'index.ts'), PATHS, undefined);
    assert.ok(code.includes(folder));
    assert.equal(code.includes(join(folder, '../shared')), shared);
  });
