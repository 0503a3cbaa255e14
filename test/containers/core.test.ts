/** A device as `devicectl system install` makes it, booted: nobody lends a hand. Costs a container each, with a whole Core. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, journal, readyCore, SMALL_SKU, shown } from '../fixtures/installed-core.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { unpacked } from '../fixtures/unpacked-bundle.ts';

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

/** Logs what is hard for a journal, with the text of a file in it. */
const TELLS = `import { existsSync, readFileSync, rmSync } from 'node:fs';
export const plugin = { setup({ scope, log }) {
  scope.interval('look', 50, () => {
    if (!existsSync('/run/device/tell')) return;
    const text = readFileSync('/run/device/tell', 'utf8');
    rmSync('/run/device/tell');
    log.warn({ n: 1, deep: { a: ['b'] } }, 'first\\nMESSAGE=forged\\nPRIORITY=0\\n\\nlast');
    log.info({}, 'x'.repeat(1 << 20));
    log.error({ code: 'DISK_FULL', text, y: 'y'.repeat(40_000) }, 'it is ' + text);
    log.info({}, 'all is told');
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

  test(
    'takes the master key of its secrets from a sealed credential, where one was put, and makes none then',
    MS,
    async () => {
      await using box = await coreBox({ sku: `${SMALL_SKU}  secrets-file: ^1.0.0\n` });
      const pid = await readyCore(box);
      const sealed = '/etc/credstore.encrypted/device.vault.key';
      await box.output(
        `mkdir -p -m 700 /etc/credstore.encrypted && head -c 32 /dev/urandom | systemd-creds encrypt --with-key=host --name=vault.key - ${sealed}`,
      );
      await box.output('systemctl restart device-core');
      await readyCore(box, pid);
      await box.output(`printf %s 'correct horse battery' | ${CTL} secret set cloud.token`);
      assert.match(await box.output(`${CTL} secret list`), /cloud\.token/);
      // A key in a file would be told.
      const { warnings = [] } = await health(box);
      assert.ok(!warnings.some(({ code }) => code === 'VAULT_KEY_FILE'), JSON.stringify(warnings));
      assert.equal(await box.output('ls -A /etc/device/secrets 2>/dev/null || true'), '');
      await box.output(`rm ${sealed} && systemctl restart device-core`);
      await readyCore(box);
      const { components } = await health(box);
      assert.match(components['secrets-file']?.message ?? '', /^locked: there is no master key/);
    },
  );

  test(
    'writes to the journal: an entry for each line of any contents, with its fields, and no secret',
    MS,
    async (t) => {
      const secret = 'correct "horse"+battery';
      await using box = await coreBox({
        sku: `${SMALL_SKU}  secrets-file: ^1.0.0\n  log-journald: ^1.0.0\n`,
        prepare: (root) => {
          // By its place in the box: the install looks for it outside.
          appendFileSync(join(root, 'etc/device/sku.yaml'), '  tells: { version: ^1.0.0, path: /opt/tells }\n');
          mkdirSync(join(root, 'opt/tells'));
          const manifest =
            'id: tells\nversion: 1.0.0\nsummary: tells\napi: ^1.0.0\nmain: ./index.mjs\nisolation: inline\n';
          writeFileSync(join(root, 'opt/tells/plugin.yaml'), manifest);
          writeFileSync(join(root, 'opt/tells/index.mjs'), TELLS);
        },
      });
      await readyCore(box);
      writeFileSync(join(box.folder, 'secret'), secret);
      await box.output(`${CTL} secret set cloud.token </lab/secret`);
      const places = '/etc/device /etc/device/secrets /etc/device/secrets/vault.key';
      const owners = (await box.output(`stat -c '%U %a' ${places}`)).trim().split('\n');
      assert.deepEqual(owners, ['root 755', 'device 700', 'device 600']);
      const began = Date.now();
      await box.output('cp /lab/secret /run/device/tell.new && mv /run/device/tell.new /run/device/tell');
      const entries = async (): Promise<readonly Readonly<Record<string, string>>[]> =>
        (await box.output('journalctl -q -a -o json -t device-core CORE_PLUGIN=tells'))
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
          // On a slow machine the Core says of the plugin that it kept the event loop.
          .filter(({ MESSAGE }) => /^(first\n|xxx|it is |all is told$)/.test(MESSAGE));
      const told = await eventually(
        async () => {
          const all = await entries();
          return all.at(-1)?.MESSAGE === 'all is told' && all;
        },
        'the lines in the journal',
        { ms: 40_000, every: 200 },
      );
      t.diagnostic(`the lines were read from the journal ${Date.now() - began} ms later`);

      const uid = (await box.output('id -u device')).trim();
      for (const one of told)
        assert.deepEqual(
          [one._TRANSPORT, one._SYSTEMD_UNIT, one._UID, one.CORE_PLUGIN],
          ['journal', 'device-core.service', uid, 'tells'],
        );
      assert.equal(told.length, 4);
      const [lines, long, failed] = told;
      assert.equal(lines!.MESSAGE, 'first\nMESSAGE=forged\nPRIORITY=0\n\nlast');
      assert.equal(lines!.PRIORITY, '4');
      assert.deepEqual(JSON.parse(lines!.CORE_FIELDS!), { n: 1, deep: { a: ['b'] } });
      assert.match(lines!.CORE_TIME!, /^\d{13}$/);
      // The log itself cuts a line of more than 64 KiB, the journal's part a field of more than 24.
      assert.deepEqual([long!.PRIORITY, long!.MESSAGE], ['6', `${'x'.repeat(8_192)}...`]);
      assert.ok(JSON.parse(long!.CORE_FIELDS!).clipped > 64 << 10);
      assert.ok(Number(failed!.CORE_CUT) > 40_000, failed!.CORE_CUT);
      assert.equal(failed!.CORE_FIELDS!.length, 24 << 10);
      assert.equal(failed!.MESSAGE, 'it is [secret cloud.token]');
      assert.deepEqual([failed!.PRIORITY, failed!.CORE_CODE], ['3', 'DISK_FULL']);
      assert.match(failed!.MESSAGE_ID!, /^[0-9a-f]{32}$/);
      const raw = await box.output('journalctl -q -a -o json');
      assert.ok(!raw.includes('horse'), 'the text is nowhere in the journal');
      assert.equal(await box.output('journalctl -q -o cat PRIORITY=0'), '');
      assert.doesNotMatch(readFileSync(box.path('/var/lib/device/log/core.log'), 'utf8'), /all is told/);

      // The Core may read it, and gives it for a support bundle.
      await box.output(`${CTL} support-bundle /lab/bundle.tar.zst`);
      const inBundle = unpacked(join(box.folder, 'bundle.tar.zst')).get('journal.txt') ?? '';
      assert.match(inBundle, /device-core\[\d+\] tells: it is \[secret/);
      assert.match(inBundle, / tells: first\nMESSAGE=forged\n/);
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
    'killed, it is back; ended five times in ten minutes, it is followed by its safe mode, until an operator starts it again',
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
    const asCore = 'setpriv --reuid=device --regid=device --clear-groups ';
    const here = (text: string) =>
      `cd /lab && ${text.replaceAll('sudo -u device ', asCore).replaceAll('sudo ', '').replaceAll('npm run -s devicectl --', ctl).trim().replaceAll('\n', ' && ')}`;
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
    // A master key in a file is in `secrets`: without it the vault that stays could not be opened.
    assert.equal(await box.output('ls /etc/device'), 'secrets\nsku.yaml\nwarden.json\n');
    assert.equal((await box.run('test -d /var/lib/device')).status, 0);
    assert.match((await box.run(uninstall!)).stderr, /NOT_FOUND/);
  });
});
