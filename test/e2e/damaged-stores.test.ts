/** Files of state that are damaged, and clocks that were set wrong: the device starts, uses the last good ones, and says so. Costs whole Cores. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { CoreProcess } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { Packages } from '../fixtures/packages.ts';

const IDS =
  'operations identity system http rpc events functions config plugin-store changes logs cli audio-sim audio speech intent ledger voice';
const SKU = {
  skuVersion: 1,
  id: 'damaged',
  title: 'A device with a bad disk',
  simulated: true,
  plugins: Object.fromEntries(IDS.split(' ').map((id) => [id, { version: '^1.0.0', essential: id === 'http' }])),
};
const YEARS_MS = 10 * 365 * 86_400_000;
const LEDGER_LINE = '{"at":1,"turn":"t","to":"x","what":"audio","bytes":7,"rule":"unsure"}\n';

const packages = new Packages();
after(() => packages[Symbol.dispose]());

class Device implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dc-'));
  readonly #sku = join(this.root, 'sku.yaml');

  constructor() {
    writeFileSync(this.#sku, stringify(SKU));
  }

  start(shiftMs = 0): Promise<CoreProcess> {
    const clock = resolve(import.meta.dirname, '../fixtures/shifted-clock.ts');
    const env = shiftMs === 0 ? {} : { NODE_OPTIONS: `--import ${clock}`, SHIFT_MS: String(shiftMs) };
    const settings = [
      '--no-tcp',
      '--set',
      'plugin-store.probationMs=20',
      '--set',
      'plugin-store.unsignedIsolation="worker"',
    ];
    return CoreProcess.startIn(env, this.root, '--sku', this.#sku, ...settings);
  }

  file(path: string): string {
    return join(this.root, path);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

const ok = async (answer: Promise<{ readonly status: number; readonly body: unknown }>): Promise<void> => {
  const { status, body } = await answer;
  assert.ok(status < 300, JSON.stringify(body));
};

/** What a device holds that was used, with a last good copy of each. */
async function use(core: CoreProcess, number: number): Promise<void> {
  await ok(core.put('/config/a.b', { value: number }));
  await ok(core.put('/audio/volume', { volume: number / 10 }));
  await ok(core.install(packages.folder({ id: `guest${number}` })));
  await ok(core.post('/voice/ask', { text: 'set a timer for three hours' }));
}

async function seen(core: CoreProcess) {
  const { plugins } = (await core.get('/plugins')).body;
  const used = (await core.get('/voice/ledger')).body;
  return {
    setting: (await core.get('/config/a.b')).body.value,
    volume: (await core.get('/audio/volume')).body.volume,
    guests: plugins
      .filter(({ id, state }: { id: string; state: string }) => id.startsWith('guest') && state === 'active')
      .map(({ id }: { id: string }) => id),
    timers: /(\d+) timers/.exec((await core.get('/health')).body.components.intent.message)?.[1],
    spent: used.used.monthSeconds,
    ledger: used.entries.length,
  };
}

const STORES = [
  'var/config.yaml',
  'var/config.meta.json',
  'var/plugins/installed.yaml',
  'var/audio/state.json',
  'var/intent/timers.json',
  'var/voice/budget.json',
  'var/voice/ledger.jsonl',
  'var/ledger/voice.jsonl',
  'run/operator.token',
  'run/subscriptions.json',
  'run/functions.json',
];

const DAMAGES: Readonly<Record<string, (file: string) => void>> = {
  'cut in half': (file) => writeFileSync(file, readFileSync(file).subarray(0, readFileSync(file).length / 2)),
  'full of garbage': (file) =>
    writeFileSync(file, Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7) % 256))),
  empty: (file) => writeFileSync(file, ''),
  'a folder': (file) => {
    rmSync(file, { force: true });
    mkdirSync(file);
    writeFileSync(join(file, 'inside'), 'x');
  },
  'a link to a device': (file) => {
    rmSync(file, { force: true });
    symlinkSync('/dev/zero', file);
  },
};

describe('a device whose files of state are', { timeout: 300_000 }, () => {
  for (const [title, damage] of Object.entries(DAMAGES))
    it(`${title} starts with what was last good, keeps the damaged ones, and says so`, async () => {
      using device = new Device();
      {
        await using core = await device.start();
        await use(core, 4);
        await core.stop();
      }
      const date = new Date().toISOString();
      const spent = { format: 1, day: date.slice(0, 10), daySeconds: 9, month: date.slice(0, 7), monthSeconds: 9 };
      for (const name of ['budget.json', 'budget.json.last-good'])
        writeFileSync(device.file(`var/voice/${name}`), JSON.stringify(spent));
      writeFileSync(device.file('var/voice/ledger.jsonl'), LEDGER_LINE);
      const there = STORES.map((store) => device.file(store)).filter((file) => existsSync(file));
      assert.ok(there.length >= 8, there.join());
      for (const file of there) damage(file);

      await using core = await device.start();
      const { body: health } = await core.get('/health');
      const failed = Object.entries(health.components as Record<string, { status: string }>).filter(
        ([, { status }]) => status === 'error' || status === 'blocked',
      );
      assert.deepEqual(failed, []);
      const { ledger, ...found } = await seen(core);
      assert.deepEqual(found, { setting: 4, volume: 0.4, guests: ['guest4'], timers: '1', spent: 9 });
      assert.ok(ledger <= 1);
      const told = health.warnings.map(({ message }: { message: string }) => message).join('\n');
      for (const store of STORES.filter((one) => /config\.yaml|installed|state\.json|timers|budget/.test(one))) {
        assert.ok(told.includes(store), `${store} is not told of:\n${told}`);
        const folder = dirname(device.file(store));
        const kept = readdirSync(folder).filter((name) => name.startsWith(`${basename(store)}.corrupt-`));
        assert.equal(kept.length, 1, `${store} is not kept`);
      }
      await use(core, 5);
      await core.stop('SIGKILL');
      await using again = await device.start();
      const { warnings = [] } = (await again.get('/health')).body;
      assert.deepEqual(
        warnings.filter(({ code }: { code: string }) => /^STATE|^CONFIG/.test(code)),
        [],
        'nothing is wrong any more',
      );
      const { setting, guests, timers } = await seen(again);
      assert.deepEqual({ setting, guests, timers }, { setting: 5, guests: ['guest4', 'guest5'], timers: '2' });
    });

  it('not to be read by their owner, or to be read by everybody, are used or told, and never kept as they are', async () => {
    using device = new Device();
    {
      await using core = await device.start();
      await use(core, 4);
      await core.stop();
    }
    const secret = readFileSync(device.file('run/operator.token'), 'utf8');
    for (const store of STORES) if (existsSync(device.file(store))) chmodSync(device.file(store), 0o666);
    await using core = await device.start();
    const { setting, guests } = await seen(core);
    assert.deepEqual({ setting, guests }, { setting: 4, guests: ['guest4'] });
    assert.notEqual(readFileSync(device.file('run/operator.token'), 'utf8'), secret, 'others could have read it');
  });

  it('cut at the end of the log and of the ledger lose that line alone', async () => {
    using device = new Device();
    mkdirSync(device.file('var/voice'), { recursive: true });
    writeFileSync(device.file('var/voice/ledger.jsonl'), LEDGER_LINE + LEDGER_LINE);
    appendFileSync(device.file('var/voice/ledger.jsonl'), LEDGER_LINE.slice(0, 30));
    await using core = await device.start();
    assert.equal((await seen(core)).ledger, 2);
  });
});

describe('a device whose clock was', { timeout: 300_000 }, () => {
  for (const [title, shift] of [
    ['ten years ahead', YEARS_MS],
    ['ten years behind', -YEARS_MS],
  ] as const)
    it(`${title} loses nothing when it is right again`, async () => {
      using device = new Device();
      {
        await using core = await device.start(shift);
        const { body } = await core.get('/ping');
        assert.ok(Math.abs(body.ts - Date.now() - shift) < 600_000, 'the clock of the Core is off');
        await use(core, 4);
        await core.stop('SIGKILL');
      }
      await using core = await device.start();
      const { setting, volume, guests, timers } = await seen(core);
      assert.deepEqual({ setting, volume, guests }, { setting: 4, volume: 0.4, guests: ['guest4'] });
      // One of ten years ago is told, not rung; one that would end in ten years ends in the three hours that it was set for.
      assert.equal(timers, shift > 0 ? '1' : '0');
      if (shift > 0) {
        const file = device.file('var/intent/timers.json');
        await use(core, 5);
        const [first] = JSON.parse(readFileSync(file, 'utf8')).timers;
        assert.ok(first.at <= Date.now() + 3 * 3_600_000);
      }
      await ok(core.put('/config/a.b', { value: 6 }));
      const proven = async () => (await core.get('/plugins/installed')).body.plugins[0].state === 'good';
      await eventually(proven, 'guest4 past its probation', { ms: 30_000 });
      const { body: health } = await core.get('/health');
      const bad = Object.entries(health.components as Record<string, { status: string }>).filter(
        ([id, { status }]) => status === 'error' && id !== 'voice', // it has no engine to answer with
      );
      assert.deepEqual(bad, []);
    });
});
