/** A device whose disk is full or read-only: it starts, runs, says so, loses nothing that it acknowledged, and recovers. Costs whole Cores. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { CoreProcess } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { Packages } from '../fixtures/packages.ts';
import { NO_DISK, SmallDisk } from '../fixtures/small-disk.ts';

const IDS =
  'operations identity system http rpc events functions config supervisor-process apps plugin-store changes logs cli audio-sim audio speech intent voice';
const SKU = {
  skuVersion: 1,
  id: 'disk',
  title: 'A device with a small disk',
  simulated: true,
  plugins: Object.fromEntries(IDS.split(' ').map((id) => [id, { version: '^1.0.0', essential: id === 'http' }])),
};

const desk = mkdtempSync(join(tmpdir(), 'dc-desk-'));
const packages = new Packages();
after(() => {
  rmSync(desk, { recursive: true });
  packages[Symbol.dispose]();
});
const sku = join(desk, 'sku.yaml');
writeFileSync(sku, stringify(SKU));

/** The compile cache is kept off the small disk: it would fill it by itself. */
const SETTINGS = ['--no-tcp', '--set', 'plugin-store.unsignedIsolation="worker"'];
const NO_CACHE = { NODE_DISABLE_COMPILE_CACHE: '1' };

interface Health {
  readonly status: string;
  readonly components: Readonly<
    Record<string, { readonly status: string; readonly code?: string; readonly message?: string }>
  >;
}

async function health(core: CoreProcess): Promise<Health> {
  return (await core.get('/health')).body;
}

const recovered = (core: CoreProcess) =>
  eventually(
    async () => {
      const { status, components } = await health(core);
      const left = Object.entries(components).filter(([, one]) => one.status === 'error');
      assert.deepEqual(left, []);
      assert.equal(status, 'ok');
      return true;
    },
    'a health that is ok',
    { ms: 30_000, every: 250 },
  );

/** Everything that a person changes on a device: what was asked, and how to see that it is there. */
const WRITES: Readonly<
  Record<
    string,
    {
      readonly ask: (core: CoreProcess, value: number) => ReturnType<CoreProcess['put']>;
      readonly see: (core: CoreProcess) => Promise<unknown>;
      readonly lasts: boolean;
    }
  >
> = {
  'a setting': {
    ask: (core, value) => core.put('/config/a.b', { value }),
    see: async (core) => (await core.get('/config/a.b')).body.value,
    lasts: false,
  },
  'an installed plugin': {
    ask: (core, value) => core.install(packages.folder({ id: `guest${value}` })),
    see: async (core) => (await core.get('/plugins/installed')).body.plugins.map(({ id }: { id: string }) => id).join(),
    lasts: false,
  },
  'a plugin that is switched off': {
    ask: (core, value) => core.post('/plugins/logs/switch', { enabled: value % 2 === 0 }),
    see: async (core) => (await core.get('/plugins/logs')).body.state,
    lasts: false,
  },
  'the volume': {
    ask: (core, value) => core.put('/audio/volume', { volume: value / 10 }),
    see: async (core) => (await core.get('/audio/volume')).body.volume,
    lasts: true,
  },
  'a timer': {
    ask: (core, value) =>
      core.post('/voice/ask', { text: `set a timer for ${['', 'one', 'two', 'three'][value]} hours` }),
    see: async (core) => `${(await core.get('/health')).body.components.intent.message}`,
    lasts: true,
  },
};

/** A device whose `<var>` is the small disk. Its log is elsewhere: a file that is open for writing keeps a disk from becoming read-only. */
class Device implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dc-'));
  readonly disk: SmallDisk;
  core!: CoreProcess;

  constructor() {
    mkdirSync(join(this.root, 'var'));
    this.disk = new SmallDisk(24 * 1024, join(this.root, 'var'));
  }

  async start(): Promise<CoreProcess> {
    this.core = await CoreProcess.startIn(
      NO_CACHE,
      this.root,
      '--sku',
      sku,
      ...SETTINGS,
      '--log',
      join(this.root, 'log'),
    );
    return this.core;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core?.[Symbol.asyncDispose]();
    this.disk[Symbol.dispose]();
    rmSync(this.root, { recursive: true });
  }
}

describe('a disk', { skip: NO_DISK, timeout: 300_000 }, () => {
  it('that is full before the first start keeps no device from starting, and it recovers by itself', async () => {
    using disk = new SmallDisk(24 * 1024);
    disk.fill();
    await using core = await CoreProcess.startIn(NO_CACHE, disk.path, '--sku', sku, ...SETTINGS);
    const found = await health(core);
    assert.equal(found.status, 'degraded');
    assert.equal(found.components['system.storage']?.code, 'STORAGE_FULL');
    assert.match(found.components['system.storage']?.message ?? '', /cannot be changed/);
    assert.equal(found.components.identity?.code, 'STORAGE_FULL');
    const { status, body } = await core.put('/config/a.b', { value: 1 });
    assert.equal(status, 507);
    assert.match(body.error, /^STORAGE_FULL: /);
    disk.free();
    await recovered(core);
    assert.equal((await core.put('/config/a.b', { value: 1 })).status, 200);
    const files = readdirSync(join(disk.path, 'run'));
    assert.ok(files.includes('operator.token') && files.includes('devicectl'), files.join());
  });

  for (const [title, code, spoil, mend] of [
    ['is full', 'STORAGE_FULL', (disk: SmallDisk) => disk.fill(), (disk: SmallDisk) => disk.free()],
    [
      'is read-only',
      'STORAGE_READ_ONLY',
      (disk: SmallDisk) => disk.readOnly(true),
      (disk: SmallDisk) => disk.readOnly(false),
    ],
  ] as const)
    it(`that ${title} answers for itself at each stage, loses nothing, and takes everything when it can again`, async () => {
      await using device = new Device();
      const { disk } = device;
      const before: Record<string, unknown> = {};
      const same = async (core: CoreProcess, when: string) => {
        for (const [what, { see }] of Object.entries(WRITES))
          assert.deepEqual(await see(core), before[what], `${what}, ${when}`);
      };
      const change = async (core: CoreProcess, value: number) => {
        for (const [what, { ask }] of Object.entries(WRITES)) {
          const { status, body } = await ask(core, value);
          assert.ok(status < 300, `${what}: ${JSON.stringify(body)}`);
        }
        for (const [what, { see }] of Object.entries(WRITES)) before[what] = await see(core);
      };

      await spoil(disk);
      let core = await device.start();
      for (const [what, { ask, lasts }] of Object.entries(WRITES)) {
        const { body } = await ask(core, 1);
        if (!lasts) assert.match(body.error ?? '', new RegExp(`^${code}: `), `${what}: ${JSON.stringify(body)}`);
      }
      assert.equal((await health(core)).components['system.storage']?.code, code);
      await mend(disk);
      await recovered(core);
      await change(core, 1);

      await spoil(disk);
      for (const [what, { ask, see, lasts }] of Object.entries(WRITES)) {
        const { status, body } = await ask(core, 2);
        if (lasts) assert.ok(status < 300, `${what} works as long as the Core runs: ${JSON.stringify(body)}`);
        else {
          assert.match(body.error ?? '', new RegExp(`^${code}: `), `${what}: ${JSON.stringify(body)}`);
          assert.equal(status, code === 'STORAGE_FULL' ? 507 : 503, what);
          assert.deepEqual(await see(core), before[what], `${what} is what it was`);
        }
      }
      const { status, components } = await health(core);
      assert.equal(status, 'degraded');
      assert.equal(components['system.storage']?.code, code);
      assert.match(components['audio.kept']?.message ?? '', /^volume and mute hold until the Core ends/);
      assert.match(components['intent.timers']?.message ?? '', /^timers do not outlive a restart/);
      await core.stop('SIGKILL');

      core = await device.start();
      await same(core, 'after a kill');
      await mend(disk);
      await recovered(core);
      await change(core, 3);
      await core.stop('SIGKILL');

      core = await device.start();
      await same(core, 'with space, after a kill');
      assert.equal((await health(core)).status, 'ok');
    });
});
