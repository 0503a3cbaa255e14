/** A SKU of as many plugins as somebody wants: four of the product, so that it listens, and the rest written for the measurement. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SkuPlugin } from '@device-core/plugin-api';
import { placed, small } from '../sku-data.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const REAL = ['operations', 'identity', 'system', 'http'];

export interface WorkloadOptions {
  /** Where the last of the written plugins runs; the others are inline. */
  readonly last?: 'inline' | 'worker' | 'process';
  /** The last two share its worker. */
  readonly shared?: boolean;
  /** Timers of about a second that the last one keeps; none of them fires with another. */
  readonly timers?: number;
  /** Plugins of the product that are left out. */
  readonly without?: readonly string[];
}

/** Plugins of three modules of about a hundred lines, and a SKU of them. */
export class Workload implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'db-'));
  readonly sku: string;
  readonly listens: boolean;
  /** Main modules of those that were written. */
  readonly modules: readonly string[];

  constructor(plugins: number, { last = 'inline', shared = false, timers = 0, without = [] }: WorkloadOptions = {}) {
    this.listens = !without.includes('http');
    const written = plugins - REAL.length;
    this.modules = Array.from({ length: written }, (_, index) =>
      this.#write(`bench${index}`, index === written - 1 ? timers : 0),
    );
    const level = (index: number): Pick<SkuPlugin, 'isolation' | 'share'> => {
      if (shared && index >= written - 2) return { isolation: 'worker', share: 'bench' };
      return { isolation: index === written - 1 ? last : 'inline' };
    };
    const lines = Array.from(
      { length: written },
      (_, i) => [`bench${i}`, { version: '^1.0.0', path: `bench${i}`, ...level(i) }] as const,
    );
    const real = REAL.filter((id) => !without.includes(id));
    this.sku = placed(this.folder, small(real, Object.fromEntries(lines)));
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules')); // for the peer's plain imports
  }

  #write(id: string, timers: number): string {
    const at = join(this.folder, id);
    mkdirSync(at);
    for (const part of ['first', 'second']) {
      const body = Array.from({ length: 33 }, (_, i) =>
        [
          `export function ${part}${i}(value: number, text: string): string {`,
          `  return text + (value * ${i});`,
          '}',
        ].join('\n'),
      );
      writeFileSync(join(at, `${part}.ts`), `${body.join('\n')}\n`);
    }
    const index = `import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { first1 } from './first.ts';
import { second1 } from './second.ts';
export const plugin = definePlugin({
  setup(host: PluginHost): void {
    host.log.debug({ a: first1(1, 'x') }, second1(2, 'y'));
    for (let i = 0; i < ${timers}; i++) host.scope.interval(\`timer \${i}\`, 1_000 + 7 * i, () => undefined);
  },
});
`;
    writeFileSync(join(at, 'index.ts'), index);
    const manifest = `id: ${id}\nversion: 1.0.0\nsummary: bench\napi: ^1.0.0\nmain: index.ts\n`;
    writeFileSync(join(at, 'plugin.yaml'), manifest);
    return join(at, 'index.ts');
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
