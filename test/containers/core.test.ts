/** A device as `devicectl system install` makes it, booted: nobody lends a hand. Costs a container each, with a whole Core. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, journal, readyCore, SMALL_SKU, shown } from '../fixtures/installed-core.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

const MS = { timeout: 180_000 };

/** Turns for ever when it is asked to. */
const HANGS = `import { existsSync, rmSync } from 'node:fs';
export const plugin = { setup(host) {
  host.scope.interval('look', 50, () => {
    if (!existsSync('/run/device/hang')) return;
    rmSync('/run/device/hang');
    for (;;);
  });
} };\n`;

suite('a Core as a service', { skip: WITHOUT_CONTAINERS }, () => {
  test(
    'boots to READY with good health, as a user without any power, behind units that systemd has nothing to say about',
    MS,
    async () => {
      await using box = await coreBox();
      const pid = await readyCore(box);
      const { status, components, warnings = [] } = await health(box);
      assert.equal(status, 'ok', JSON.stringify(components));
      assert.deepEqual(warnings, []);
      const plugins = SMALL_SKU.split('plugins:\n')[1]!.trim().split('\n').length;
      assert.equal(await shown(box, 'device-core', 'StatusText'), `${plugins} of ${plugins} plugins active`);

      const proc = readFileSync(box.path(`/proc/${pid}/status`), 'utf8');
      const uid = (await box.output('id -u device')).trim();
      assert.match(proc, new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s`, 'm'));
      for (const set of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        assert.match(proc, new RegExp(`^${set}:\\s+0+$`, 'm'));
      assert.match(proc, /^NoNewPrivs:\s+1$/m);

      const { units } = JSON.parse(await box.output(`${CTL} --json system check`)) as {
        readonly units: readonly { readonly unit: string; readonly problems: readonly string[] }[];
      };
      assert.deepEqual(
        units.flatMap(({ problems }) => problems),
        [],
      );
      assert.ok(units.length >= 6);
      assert.equal(await box.output('systemctl --failed --plain --no-legend'), '');

      await box.output('systemctl stop device-core');
      assert.equal(await shown(box, 'device-core', 'Result'), 'success');
      // A group is read while its last process dies: that is between systemd and this machine's kernel.
      const lines = (await journal(box, 'device-core')).replaceAll(/^.*ignoring: Input\/output error$/gm, '');
      assert.doesNotMatch(lines, /error|warn/i);
    },
  );

  test('is ended when its event loop hangs, and comes back', MS, async () => {
    await using box = await coreBox({
      dropIn: '[Service]\nWatchdogSec=2\n',
      prepare: (root) => {
        const sku = readFileSync(join(root, 'etc/device/sku.yaml'), 'utf8');
        writeFileSync(
          join(root, 'etc/device/sku.yaml'),
          sku.replace('plugins:\n', 'plugins:\n  hangs: { version: ^1.0.0, path: /opt/hangs }\n'),
        );
        mkdirSync(join(root, 'opt/hangs'), { recursive: true });
        writeFileSync(
          join(root, 'opt/hangs/plugin.yaml'),
          'id: hangs\nversion: 1.0.0\nsummary: hangs\napi: ^1.0.0\nmain: ./index.mjs\nisolation: inline\n',
        );
        writeFileSync(join(root, 'opt/hangs/index.mjs'), HANGS);
      },
    });
    const pid = await readyCore(box);
    await box.output('touch /run/device/hang');
    const next = await readyCore(box, pid);
    assert.notEqual(next, pid);
    assert.match(await journal(box, 'device-core'), /Watchdog timeout/);
    assert.equal(await shown(box, 'device-core', 'NRestarts'), '1');
  });

  test(
    'killed, it is back; ended five times in ten minutes, it is followed by its safe mode, until somebody starts it again',
    MS,
    async () => {
      await using box = await coreBox();
      const pid = await readyCore(box);
      await box.output(`kill -9 ${pid}`);
      await readyCore(box, pid);
      const drop = '/run/systemd/system/device-core.service.d';
      await box.output(
        `mkdir -p ${drop}; printf '[Service]\\nExecStart=\\nExecStart=/bin/false\\nRestartSec=50ms\\n' >${drop}/99.conf; systemctl daemon-reload; systemctl kill -s KILL --kill-who=main device-core`,
      );
      await eventually(async () => (await shown(box, 'device-safe', 'ActiveState')) === 'active', 'safe mode', {
        ms: 60_000,
        every: 100,
      });
      assert.match(await journal(box, 'device-core'), /Start request repeated too quickly/);
      const list = JSON.parse(await box.output(`${CTL} --json plugin list`)) as { plugins: { id: string }[] };
      assert.ok(!list.plugins.some(({ id }) => id === 'rpc'), JSON.stringify(list));
      await box.output(
        `rm -r ${drop}; systemctl daemon-reload; systemctl reset-failed device-core; systemctl start device-core`,
      );
      await readyCore(box);
      assert.equal(await shown(box, 'device-safe', 'ActiveState'), 'inactive');
      assert.equal((await health(box)).status, 'ok');
    },
  );

  test('is installed on a running system as the guide says, and taken away again with its state kept', MS, async () => {
    await using box = await Container.start();
    const guide = readFileSync(new URL('../../docs/guides/service.md', import.meta.url), 'utf8');
    const blocks = (kind: string) =>
      [...guide.matchAll(new RegExp(`^\`\`\`${kind}\\n([^]*?)^\`\`\``, 'gm'))].map(([, text]) => text!);
    mkdirSync(join(box.folder, 'products'));
    writeFileSync(join(box.folder, 'products/kiosk.yaml'), blocks('yaml file=products/kiosk.yaml')[0]!);
    const ctl = '/checkout/node_modules/.bin/node /checkout/plugins/interface/cli/program/devicectl.ts';
    const here = (text: string) =>
      `cd /lab && ${text.replaceAll('sudo ', '').replaceAll('npm run -s devicectl --', ctl).trim().replaceAll('\n', ' && ')}`;
    const [install, look, check, uninstall, ...rest] = blocks('sh device').map(here);
    assert.deepEqual(rest, []);
    const said = await box.output(install!);
    assert.match(said, /^started: /m);
    assert.match(said, /Status: "16 of 16 plugins active"/);
    const pid = await readyCore(box);
    assert.match(await box.output(look!), /health +ok/);
    assert.match(await box.output(check!), /^device-warden.service: fine/m);
    // The same again is an update: the Core runs on its new code.
    await box.output(install!);
    await readyCore(box, pid);
    await box.output(uninstall!);
    const left = await box.output(
      'find /usr/lib/systemd /usr/lib/device* /etc -name "device*" ! -name "device-mapper*" || true',
    );
    assert.deepEqual(left.trim().split('\n'), ['/etc/device']);
    assert.equal(await box.output('ls /etc/device'), 'sku.yaml\nwarden.json\n');
    assert.equal((await box.run('test -d /var/lib/device')).status, 0);
    assert.match((await box.run(uninstall!)).stderr, /NOT_FOUND/);
  });
});
