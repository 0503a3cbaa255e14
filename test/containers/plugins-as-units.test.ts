/** Plugins at level process of an installed Core, under systemd and the warden. Costs a container with a whole Core. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, readyCore, SMALL_SKU, shown } from '../fixtures/installed-core.ts';
import { type Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

const MS = { timeout: 240_000 };
const SKU = `${SMALL_SKU}  supervisor-systemd: ^1.0.0\n`;

/** Tells of its place in the world, and does what a file of it says. */
const KETTLE = `import { readFileSync, readdirSync } from 'node:fs';
export const plugin = { setup({ log, scope }) {
  const reach = (path) => { try { readFileSync(path); return 'read'; } catch ({ code }) { return code; } };
  log.info({ uid: process.getuid(), env: Object.keys(process.env), run: reach('/run/device/operator.token') }, 'kettle is up');
} };\n`;

function placePlugin(box: Container, id: string, program: string, more = ''): void {
  const folder = join(box.folder, id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'plugin.yaml'),
    `id: ${id}\nversion: 1.0.0\nsummary: ${id}\napi: ^1.0.0\nmain: ./index.mjs\n${more}`,
  );
  writeFileSync(join(folder, 'index.mjs'), program);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: id, version: '1.0.0', type: 'module' }));
}

const install = (box: Container, id: string) => box.output(`${CTL} plugin install /lab/${id} --yes`);

/** Process of a unit that runs. */
const pidOf = (box: Container, unit: string, not?: string) =>
  eventually(
    async () => {
      const [state, pid] = [await shown(box, unit, 'ActiveState'), await shown(box, unit, 'MainPID')];
      return state === 'active' && pid !== not && pid;
    },
    `${unit} that runs`,
    { ms: 60_000, every: 100 },
  );

suite('plugins at level process', { skip: WITHOUT_CONTAINERS }, () => {
  test('are units with users of their own', MS, async () => {
    await using box = await coreBox({ sku: SKU });
    await readyCore(box);
    placePlugin(box, 'kettle', KETTLE);
    await install(box, 'kettle').catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await box.output('journalctl -n 80 --no-pager')}`);
    });
    console.log(
      await box.output(
        `${CTL} plugin list; systemctl status plugin-kettle; journalctl -n 30 --no-pager; cat /run/systemd/system/plugin-kettle.service`,
      ),
    );
    console.log(JSON.stringify(await health(box), null, 1));
    const pid = await pidOf(box, 'plugin-kettle');
    assert.equal((await box.output(`stat -c %u /proc/${pid}`)).trim(), '50000');
  });
});
