/** The SKUs of the rows that are no file in skus/: data over those of the tree, so that an edit of a file there cannot break a row. bench.test.ts checks each. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SkuManifest, SkuPlugin } from '@device-core/plugin-api';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { stringify } from 'yaml';
import { culprits } from '../fixtures/culprits.ts';

const TREE = resolve(import.meta.dirname, '../../manifests/skus');
const RANGE = '^1.0.0';

type Line = string | SkuPlugin;

/** A SKU of the tree, flat, with these lines in place of its own or beside them. */
function over(name: string, lines: Readonly<Record<string, Line>>, keep = (_id: string) => true): SkuManifest {
  const { value } = readSkuFamily(join(TREE, `${name}.yaml`));
  const kept = Object.entries(value.plugins).filter(([id]) => keep(id));
  return {
    ...value,
    plugins: { ...Object.fromEntries(kept), ...lines } as SkuManifest['plugins'],
    ...(value.safeMode === undefined ? {} : { safeMode: value.safeMode.filter(keep) }),
  };
}

/** The line of a plugin as the SKU has it, with more configuration. Throws where the SKU has no such plugin. */
function configured(name: string, id: string, config: object): Readonly<Record<string, Line>> {
  const line: Line | undefined = readSkuFamily(join(TREE, `${name}.yaml`)).value.plugins[id];
  if (line === undefined) throw new Error(`SKU ${name} has no plugin ${id}`);
  const whole = typeof line === 'string' ? { version: line } : line;
  return { [id]: { ...whole, config: { ...whole.config, ...config } } };
}

export const simulator = (): SkuManifest => over('simulator', {});

/** Recognition by nothing but a cloud on this port. */
export const throughCloud = (port: number): SkuManifest =>
  over('simulator', {
    ...configured('simulator', 'voice', { router: { local: false } }),
    'stt-cloud': { version: RANGE, config: { endpoint: `http://127.0.0.1:${port}/v1` } },
  });

const SCREEN = /^(display|render-.*|panel-.*|input-.*|splash|notify|system-view|home|character)$/;
export const withoutScreen = (): SkuManifest => over('simulator', {}, (id) => !SCREEN.test(id));

/** Every app may show itself. */
export const touched = (): SkuManifest =>
  over('simulator', {
    ...Object.fromEntries(['render-soft', 'render-skia', 'input-sim', 'panel-sim'].map((id) => [id, RANGE])),
    display: { version: RANGE, config: { autoShow: ['*'] } },
  });

export const withGuests = (guests: Readonly<Record<string, SkuPlugin>>): SkuManifest => over('simulator', guests);

/** No port is opened, and the SKU itself says so, for what the command line sets no image can know beforehand. */
export const headlessWithoutTcp = (): SkuManifest =>
  over('headless-io', configured('headless-io', 'http', { tcp: false }));

/** A bridge with a slow bus and one app that loves it. */
export const slowBus = (): SkuManifest => ({
  skuVersion: 1,
  id: 'bench',
  title: 'Bench',
  simulated: true,
  plugins: {
    ...bare('operations', 'identity', 'system', 'http', 'port-sim', 'endpoints', 'cbp'),
    limits: { version: RANGE, config: { generous: true } },
    rpc: {
      version: RANGE,
      config: { apps: [{ id: 'com.example.greedy', name: 'greedy', capabilities: ['bridges.spi:slow'] }] },
    },
    spi: {
      version: RANGE,
      config: {
        handles: [
          { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 },
          { name: 'slow', endpoint: 'spi1', cs: 0, speed: 125_000, mode: 0 },
        ],
      },
    },
    i2c: { version: RANGE, config: { handles: [{ name: 'memory', endpoint: 'i2c0', address: 0x50 }] } },
    gpio: { version: RANGE, config: { handles: [{ name: 'button', endpoint: 'gpio0', line: 8, direction: 'in' }] } },
  },
});

/** These plugins of the product, and others by their lines. */
export const small = (ids: readonly string[], lines: Readonly<Record<string, SkuPlugin>>): SkuManifest => ({
  skuVersion: 1,
  id: 'bench',
  title: 'Bench',
  simulated: true,
  plugins: { ...bare(...ids), ...lines },
});

function bare(...ids: readonly string[]): Record<string, SkuPlugin> {
  return Object.fromEntries(ids.map((id) => [id, { version: RANGE }]));
}

/** Each of them as a row makes it; what is beside it goes into the folder. */
export const BENCH_SKUS: Readonly<Record<string, (folder: string) => SkuManifest>> = {
  'the simulator (rows 14, 15, 28 to 30, 79)': simulator,
  'recognition by a cloud (row 17)': () => throughCloud(41_500),
  'the simulator without a screen (row 79)': withoutScreen,
  'a device that is touched (row 80)': touched,
  'a device with a guest that floods (rows 31 to 37)': (folder) => withGuests(culprits(folder, ['flood'], 'worker')),
  'headless-io without a port (rows 95 and 96)': headlessWithoutTcp,
  'a slow bus (rows 22 to 27)': slowBus,
};

/** Writes a SKU and returns the path of its file. */
export function placed(folder: string, sku: SkuManifest): string {
  const file = join(folder, 'sku.yaml');
  writeFileSync(file, stringify(sku));
  return file;
}
