/** No output switches by itself: outputs over any order of writes, outages, resets of the bridge, and restarts of the plugin and of the Core. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { type Endpoints, endpoints, type SourceView } from '@device-core/plugin-api/services/endpoints';
import { type GpioHandle, gpio } from '@device-core/plugin-api/services/gpio';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, type TestHost } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { plugin } from '../../../plugins/hardware/gpio/index.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/gpio.yaml');
const NOTHING = { [Symbol.dispose]: () => undefined, [Symbol.asyncDispose]: async () => undefined };
const version = { major: 1, minor: 0 };
const KEEP = 0xff;
const HANDLES: readonly GpioHandle[] = [
  { name: 'kept', endpoint: 'gpio0', line: 0, direction: 'out', initial: 1, safe: 'keep' },
  { name: 'first', endpoint: 'gpio0', line: 1, direction: 'out', initial: 1, safe: 'keep', onReset: 'initial' },
  { name: 'safe', endpoint: 'gpio0', line: 2, direction: 'out', initial: 0, safe: 1 },
];

/** A bank of lines as docs/cbp.md has it. It outlives whoever gives it settings. */
class Lines implements Endpoints {
  readonly levels = new Map<number, number>();
  readonly #safe = new Map<number, number>();
  readonly #watchers = new Set<(views: readonly SourceView[]) => void>();
  configured = 0;
  #boot = 1;
  #up = true;

  async request(_endpoint: string, op: number, body: Uint8Array): Promise<Uint8Array> {
    const words = Buffer.from(body);
    if (op === 1) {
      const line = Math.log2(words.readUInt32LE(0));
      const levels = Buffer.alloc(4);
      levels.writeUInt32LE((this.levels.get(line) ?? 0) << line);
      return levels;
    }
    if (op === 2) this.levels.set(Math.log2(words.readUInt32LE(0)), words.readUInt32LE(4) ? 1 : 0);
    if (op === 3) {
      this.configured++;
      this.levels.set(words[0]!, words[6]!);
      this.#safe.set(words[0]!, words[7]!);
    }
    return new Uint8Array(0);
  }

  silence(): void {
    this.#tell(false);
    this.#tell(true);
  }

  /** Longer than the watchdog bears. */
  loss(): void {
    this.#tell(false);
    for (const [line, safe] of this.#safe) if (safe !== KEEP) this.levels.set(line, safe);
    this.#tell(true);
  }

  reset(): void {
    this.#tell(false);
    this.levels.clear();
    this.#safe.clear();
    this.#boot++;
    this.#tell(true);
  }

  onChange(listener: (views: readonly SourceView[]) => void): Disposable {
    this.#watchers.add(listener);
    listener(this.#views());
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
  }

  list = async () => [];
  onEvent = () => NOTHING;
  serve = () => NOTHING;

  #tell(up: boolean): void {
    this.#up = up;
    for (const watcher of [...this.#watchers]) watcher(this.#views());
  }

  #views(): readonly SourceView[] {
    const about = { source: 'bridge', where: 'bridge' } as const;
    if (!this.#up) return [{ ...about, state: 'down', reason: 'silence' }];
    const boot = String(this.#boot);
    const gpio0 = { name: 'gpio0', class: 1, version, maxInflight: 8, maxTransfer: 64, boot };
    return [{ ...about, state: 'up', endpoints: [gpio0] }];
  }
}

async function start(lines: Lines, folder: string, handles = HANDLES): Promise<TestHost> {
  const info = { paths: { etc: folder, var: folder, run: folder } } as Partial<DeviceInfo> as DeviceInfo;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { handles },
    services: [
      given(operations, { add: () => NOTHING, addStream: () => NOTHING }),
      given(device, { info: async () => info }),
      given(endpoints, lines),
    ],
  });
  await host.settle();
  return host;
}

type Step =
  | { readonly do: 'write'; readonly handle: number; readonly level: 0 | 1 }
  | { readonly do: 'silence' | 'loss' | 'reset' | 'restart' | 'new handle' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write'), handle: fc.nat(2), level: fc.constantFrom(0, 1) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('silence', 'loss', 'reset', 'restart', 'new handle') }) },
) as fc.Arbitrary<Step>;

it('an output has the level that was written last, until its watchdog or a reset makes it another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), 'gpio-'));
      const lines = new Lines();
      let handles = HANDLES;
      let host = await start(lines, folder);
      try {
        const level: number[] = HANDLES.map(({ initial = 0 }) => initial);
        /** As the plugin knows it: a restart finds the level that is there. */
        const last: (number | undefined)[] = HANDLES.map(() => undefined);
        for (const one of steps) {
          if (one.do === 'write') {
            await host.service(gpio).write(HANDLES[one.handle]!.name, one.level);
            level[one.handle] = last[one.handle] = one.level;
          } else if (one.do === 'silence') lines.silence();
          else if (one.do === 'loss') {
            lines.loss();
            level[2] = 1;
          } else if (one.do === 'reset') {
            lines.reset();
            HANDLES.forEach(({ initial = 0, onReset }, index) => {
              level[index] = (onReset === 'initial' ? undefined : last[index]) ?? initial;
            });
          } else {
            await host.stop();
            if (one.do === 'new handle')
              handles = [{ name: `lamp${handles.length}`, endpoint: 'gpio0', line: 9, direction: 'in' }, ...HANDLES];
            host = await start(lines, folder, handles);
            level.forEach((now, index) => {
              last[index] = now;
            });
          }
          await host.settle();
          assert.deepEqual(
            HANDLES.map(({ line }) => lines.levels.get(line)),
            level,
            JSON.stringify(one),
          );
        }
      } finally {
        await host.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: runs(100) },
  );
});

it('a line is configured when its endpoint has forgotten it, and at no other time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gpio-'));
  const lines = new Lines();
  const counted: number[] = [];
  for (const between of [() => undefined, () => lines.silence(), () => lines.reset()]) {
    const host = await start(lines, folder);
    between();
    await host.settle();
    counted.push(lines.configured);
    await host.stop();
  }
  rmSync(folder, { recursive: true, force: true });
  assert.deepEqual(counted, [3, 3, 6]);
});

for (const [what, text] of [
  ['was damaged', '{'],
  [
    'is of another run of the machine',
    '{"format":1,"machine":"another","lines":{"gpio0/0":{"boot":"bridge 1","settings":{}}}}',
  ],
] as const)
  it(`outputs begin with their first level where what was kept ${what}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpio-'));
    mkdirSync(join(folder, 'gpio'));
    writeFileSync(join(folder, 'gpio', 'lines.json'), text);
    const lines = new Lines();
    const host = await start(lines, folder);
    assert.deepEqual([lines.configured, lines.levels.get(0)], [3, 1]);
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  });
