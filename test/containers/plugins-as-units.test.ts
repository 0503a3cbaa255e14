/** Plugins at level process of an installed Core, under systemd and the warden. Costs a container with a whole Core each. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, journal, readyCore, SMALL_SKU, shown } from '../fixtures/installed-core.ts';
import { type Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

const MS = { timeout: 240_000 };
/** A crash beyond its probation removes no plugin. */
const SKU = `${SMALL_SKU.replace('plugin-store: ^1.0.0', 'plugin-store: { version: ^1.0.0, config: { probationMs: 100 } }')}  supervisor-systemd: ^1.0.0\n`;

/** Throws what it found out of its place in the world: an error of a plugin is told with its message. */
const KETTLE = `import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
const reach = (work) => { try { work(); return 'done'; } catch ({ code }) { return code; } };
export const plugin = { setup({ log }) {
  log.warn({}, 'found ' + JSON.stringify({
    uid: process.getuid(), env: Object.keys(process.env),
    operator: reach(() => readFileSync('/run/device/operator.token')), etc: reach(() => readFileSync('/etc/device/warden.json')),
    write: reach(() => writeFileSync('/tmp/x', 'x')), signal: reach(() => process.kill(1, 0)),
  }));
} };\n`;
/** Does not end by itself. */
const DEAF = `process.on('SIGTERM', () => {}); process.on('exit', () => { for (;;); });
export const plugin = { setup() { setInterval(() => {}, 1000); } };\n`;
const HEAP = `const all = [];
export const plugin = { setup({ scope }) { scope.timeout('fill', 500, () => { for (;;) all.push(new Array(1e4).fill(all.length)); }); } };\n`;
const MEMORY = `const all = [];
export const plugin = { setup({ scope }) { scope.timeout('fill', 500, () => { for (;;) all.push(Buffer.alloc(1 << 24, 1)); }); } };\n`;

/** Of the operator's hand: packed as a folder, installed by devicectl. */
async function install(box: Container, id: string, program: string, more = ''): Promise<void> {
  const folder = join(box.folder, id);
  mkdirSync(folder, { recursive: true });
  const manifest = `id: ${id}\nversion: 1.0.0\nsummary: ${id}\napi: ^1.0.0\nmain: ./index.mjs\n${more}`;
  writeFileSync(join(folder, 'plugin.yaml'), manifest);
  writeFileSync(join(folder, 'index.mjs'), program);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: id, version: '1.0.0', type: 'module' }));
  await box.output(`${CTL} plugin install /lab/${id} --yes`);
}

/** Process of a unit that runs. */
const pidOf = (box: Container, unit: string, not?: string) =>
  eventually(
    async () => {
      const [state, pid] = [await shown(box, unit, 'ActiveState'), await shown(box, unit, 'MainPID')];
      return state === 'active' && pid !== not && pid;
    },
    `${unit} that runs`,
    { ms: 60_000, every: 100 },
  ).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await box.output(`${CTL} plugin list; journalctl -n 60 --no-pager`)}`);
  });

/** A line of the Core's. */
const told = (box: Container, line: RegExp) =>
  eventually(async () => line.exec(await journal(box, 'device-core')), `the line ${line}`, {
    ms: 60_000,
    every: 200,
  }).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await box.output('journalctl -n 60 --no-pager')}`);
  });

suite('plugins at level process', { skip: WITHOUT_CONTAINERS }, () => {
  test('are units with users of their own that find nothing of the device, and say why they ended', MS, async () => {
    await using box = await coreBox({ sku: SKU });
    await readyCore(box);
    await install(box, 'kettle', KETTLE);
    const pid = await pidOf(box, 'plugin-kettle');
    assert.equal((await box.output(`stat -c %u /proc/${pid}`)).trim(), '50000');
    const [, found = ''] = (await told(box, /found (\{.*\})/)) ?? [];
    assert.deepEqual(JSON.parse(found), {
      uid: 50_000,
      env: [],
      operator: 'ERR_ACCESS_DENIED',
      etc: 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      signal: 'EPERM',
    });
    assert.equal(await box.output('ls -A /run/device/plugins/kettle'), '', 'its channel takes no second connection');
    const seen = await box.output(
      `nsenter -t ${pid} -m ls -A /run /run/device /var/lib/device /var/lib/device/plugins`,
    );
    assert.doesNotMatch(seen, /token|sock|users|installed|log/);

    const { components, warnings = [] } = await health(box);
    assert.equal(components['supervisor-systemd']?.message, 'units of plugins: plugin-kettle.service');
    assert.deepEqual(
      warnings.filter(({ code }) => code !== 'STALL'),
      [],
    );
    assert.match(
      await box.output(`${CTL} plugin audit`),
      /^kettle 1\.0\.0, level process \(plugin-kettle\.service\), /m,
    );

    await box.output(`kill -9 ${pid}`);
    await told(box, /kettle.*it was ended by SIGKILL/);
    await pidOf(box, 'plugin-kettle', pid);
    await install(box, 'heap', HEAP, 'budget: { heapMB: 64 }\n');
    await told(box, /heap.*its heap grew past its budget/);
    await install(box, 'hoard', MEMORY, 'budget: { heapMB: 64 }\n');
    await told(
      box,
      /hoard.*(it took too much memory, and its budget is 256 MB|its memory grew to|it was ended by SIGKILL)/,
    );

    await install(box, 'writes', KETTLE, "files: { write: ['{var}/writes'] }\n");
    const missing = (await health(box)).warnings?.filter(({ code }) => code === 'PLUGIN_UNIT_MISSING');
    assert.match(missing?.[0]?.message ?? '', /^plugin writes runs as a process .* files\.write: \{var\}\/writes/);
    assert.equal(missing?.length, 1);

    await box.output(`${CTL} plugin disable kettle`);
    assert.equal(await shown(box, 'plugin-kettle', 'ActiveState'), 'inactive');
  });

  test(
    'end with a Core that was killed or restarted, also where they are deaf, and come back with it',
    MS,
    async () => {
      await using box = await coreBox({ sku: SKU });
      let core = await readyCore(box);
      await install(box, 'deaf', DEAF);
      let pid = await pidOf(box, 'plugin-deaf');
      await box.output(`kill -9 ${core}`);
      core = await readyCore(box, core);
      const next = await pidOf(box, 'plugin-deaf', pid);
      const alone = `cat /sys/fs/cgroup/systemd/device.slice/device-apps.slice/plugin-deaf.service/cgroup.procs /sys/fs/cgroup/device.slice/device-apps.slice/plugin-deaf.service/cgroup.procs 2>/dev/null || true`;
      assert.equal((await box.output(`test -e /proc/${pid} && echo there || true`)).trim(), '');
      assert.equal((await box.output(alone)).trim(), next);
      pid = next;
      await box.output('systemctl restart device-core');
      await readyCore(box, core);
      const third = await pidOf(box, 'plugin-deaf', pid);
      // What systemd started again without being asked has no channel.
      const active = () => box.output(`${CTL} plugin list`).then((list) => /deaf +1\.0\.0 +active +process/.test(list));
      await eventually(active, 'the plugin is active', { ms: 60_000, every: 200 });
      await eventually(async () => (await health(box)).status === 'ok', 'good health', { ms: 30_000, every: 200 });
      assert.notEqual(third, pid);
      const { components } = await health(box);
      assert.equal(components['supervisor-systemd']?.message, 'units of plugins: plugin-deaf.service');
    },
  );
});
