/** Apps of an installed Core, under systemd and the warden: as on a device. Costs a container with a whole Core each. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, readyCore, SMALL_SKU, shown } from '../fixtures/installed-core.ts';
import { type Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { type Row, table, type World, wrong } from '../fixtures/probe/table.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const MS = { timeout: 180_000 };
const withApps = (...folders: readonly string[]) =>
  SMALL_SKU.replace(
    '  rpc:',
    `  apps: { version: ^1.0.0, config: { folders: ${JSON.stringify(folders)}, demand: { user: kernel, files: kernel, devices: kernel, network: kernel, syscalls: kernel } } }\n  app-store: ^1.0.0\n  supervisor-systemd: ^1.0.0\n  rpc:`,
  );

/** An app of the image: it lies beside the Core. */
const agenda = (root: string) =>
  cpSync(join(CHECKOUT, 'docs/examples/agenda'), join(root, 'usr/lib/device/apps/agenda'), { recursive: true });

async function pidOf(box: Container, unit: string): Promise<string> {
  return eventually(
    async () => {
      const [state, pid] = [await shown(box, unit, 'ActiveState'), await shown(box, unit, 'MainPID')];
      return state === 'active' && pid;
    },
    `${unit} that runs`,
    { ms: 40_000, every: 50 },
  );
}

suite('apps of a Core as a service', { skip: WITHOUT_CONTAINERS }, () => {
  test(
    'run as users of their own without a hand; end with a Core that was killed, and come back with it',
    MS,
    async (t) => {
      await using box = await coreBox({ sku: withApps('apps/agenda'), prepare: agenda });
      const core = await readyCore(box);
      const app = await pidOf(box, 'app-agenda');
      assert.equal((await box.output(`stat -c %u /proc/${app}`)).trim(), '40000');
      await eventually(async () => (await health(box)).status === 'ok', 'good health', { ms: 20_000, every: 200 });

      const gone = `kill -9 ${core}; from=$(date +%s%3N); while test -e /proc/${app}; do sleep 0.01; done; expr $(date +%s%3N) - $from`;
      t.diagnostic(`the app was gone ${(await box.output(gone)).trim()} ms after the Core`);
      await readyCore(box, core);
      assert.notEqual(await pidOf(box, 'app-agenda'), app);
      await eventually(async () => (await health(box)).status === 'ok', 'good health again', {
        ms: 20_000,
        every: 200,
      });
    },
  );

  test('are started by a warden that was killed in the middle', MS, async () => {
    await using box = await coreBox({ sku: withApps('apps/agenda'), prepare: agenda });
    await readyCore(box);
    let former = await pidOf(box, 'app-agenda');
    for (let round = 0; round < 3; round += 1) {
      const restarted = box.run(`${CTL} app restart com.example.agenda`);
      await box.run('systemctl kill -s KILL --kill-who=main device-warden');
      await restarted;
      // One that met no warden is asked for once more.
      const running = async () => {
        if ((await shown(box, 'app-agenda', 'ActiveState')) !== 'active')
          await box.run(`${CTL} app start com.example.agenda`);
        const pid = await shown(box, 'app-agenda', 'MainPID');
        return pid !== '0' && pid;
      };
      former = await eventually(running, 'the app', { ms: 30_000, every: 200 });
    }
    assert.notEqual(former, '0');
    await eventually(async () => (await health(box)).status === 'ok', 'good health', { ms: 20_000, every: 200 });
  });

  for (const granted of [false, true])
    test(`find what the table says, ${granted ? 'with' : 'without'} a grant of storage`, MS, async () => {
      const code = '/opt/apps/probe';
      const state = '/var/lib/device/apps';
      const world: World = {
        own: {
          code,
          data: `${state}/com.example.probe/data`,
          cache: `${state}/com.example.probe/cache`,
          token: '/run/credentials/app-probe.service/token',
          socket: '/run/device/apps/probe/rpc.sock',
          shared: '/run/device/shared/core.sock',
        },
        others: {
          'data of another': `${state}/com.example.agenda/data/appointments.json`,
          'code of another': '/opt/apps/other/main.js',
          "the operator's token": '/run/device/operator.token',
          'the SKU': '/etc/device/sku.yaml',
          'what the warden allows': '/etc/device/warden.json',
          'the log of the Core': '/var/lib/device/log/core.log',
        },
        otherSocket: '/run/device/apps/agenda/rpc.sock',
        otherFolder: '/run/device/apps/agenda',
        neighbour: '/dev/loop-control',
        pid: 1,
        port: 55_280,
      };
      const rows: readonly Row[] = table(world, { by: 'systemd', network: 'none', granted });
      await using box = await coreBox({
        sku: withApps('apps/agenda', code),
        prepare: (root) => {
          agenda(root);
          for (const folder of ['probe', 'other']) mkdirSync(join(root, 'opt/apps', folder), { recursive: true });
          const at = (name: string) => join(root, code, name);
          writeFileSync(join(root, 'opt/apps/other/main.js'), 'secret');
          copyFileSync(join(CHECKOUT, 'test/fixtures/probe/walls.mjs'), at('main.mjs'));
          for (const name of ['koffi', `@koromix/koffi-linux-${process.arch}`])
            cpSync(join(CHECKOUT, 'node_modules', name), at(`node_modules/${name}`), { recursive: true });
          writeFileSync(at('tries.json'), JSON.stringify(rows.map(({ name, try: one }) => ({ name, try: one }))));
          writeFileSync(
            at('app.yaml'),
            JSON.stringify({
              manifestVersion: 1,
              id: 'com.example.probe',
              name: 'probe',
              version: '1.0.0',
              title: 'Probe',
              minCore: '0.1.0',
              exec: { command: 'node', args: ['main.mjs'] },
              capabilities: granted ? [{ id: 'storage-scoped', reason: 'keeps' }] : [],
              lifecycle: { restart: 'never' },
              health: { kind: 'none' },
            }),
          );
        },
      });
      await readyCore(box);
      const said = await eventually(
        async () => {
          const lines = (await box.output('journalctl -q -o cat SYSLOG_IDENTIFIER=app-probe')).split('\n');
          const found = lines.filter((line) => line.startsWith('{')).at(-1);
          // On a busy machine a start may last too long for the Core: a run that it gave up has neither token nor socket.
          if (found !== undefined && JSON.parse(found)['own token is read'] === 'done') return found;
          if (found !== undefined) await box.run(`${CTL} app start com.example.probe`);
          return undefined;
        },
        'what the probe found',
        { ms: 40_000, every: 200 },
      ).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await box.output(`${CTL} app list; journalctl -n 60 --no-pager`)}`);
      });
      assert.deepEqual(wrong(rows, JSON.parse(said)), []);
    });
});
