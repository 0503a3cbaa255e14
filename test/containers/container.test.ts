import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

suite('a container for tests', { skip: WITHOUT_CONTAINERS }, () => {
  test('boots a systemd that runs a unit, sees the checkout and shares a folder; nothing is left of it', async () => {
    let root: string;
    {
      await using container = await Container.start((folder) => {
        writeFileSync(
          join(folder, 'etc/systemd/system/told.service'),
          '[Service]\nType=oneshot\nUser=nobody\nDynamicUser=yes\nExecStart=/bin/sh -c "id -un; test -e /checkout/package.json"\nStandardOutput=append:/lab/told\n',
        );
      });
      root = container.root;
      await container.output('systemctl start told.service');
      assert.equal(await container.output('cat /lab/told'), 'nobody\n');
      assert.equal((await container.run('touch /checkout/x')).status, 1);
      assert.equal(await container.output('systemctl --failed --plain --no-legend'), '');
      assert.match(await container.output('/checkout/node_modules/.bin/node --version'), /^v24/);
      assert.ok(existsSync(container.path('/run/systemd/private')));
      assert.equal(await container.output('id -u', { user: 'nobody' }), '65534\n');
      if (existsSync('/sys/fs/cgroup/memory/cgroup.procs')) {
        const hog = `python3 -c 'len(b"a" * 200_000_000)'`;
        assert.equal((await container.run(`systemd-run -q --wait -p MemoryMax=50M ${hog}`)).status, 255);
        assert.equal((await container.run(`systemd-run -q --wait -p MemoryMax=500M ${hog}`)).status, 0);
      }
    }
    assert.equal(existsSync(root), false);
  });
});
