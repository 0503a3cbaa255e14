/** The logs plugin on a host of its own, with log files to write into. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost, TestOperations, type VirtualClock } from '@device-core/plugin-api/testing';
import { CoreLogControl } from '../../../kernel/boot/log-control.ts';
import { plugin } from '../../../plugins/state/logs/index.ts';

const MANIFEST = fileURLToPath(new URL('../../../manifests/plugins/state/logs.yaml', import.meta.url));

export interface Fixture extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  readonly core: string;
  readonly control: CoreLogControl;
  /** Appends lines to a file of the log folder: objects as JSON, strings as they are. */
  write(file: string, ...lines: readonly (object | string)[]): void;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the plugin said
  read(params?: object): Promise<any>;
}

export async function startLogs(
  config: object = {},
  clock?: VirtualClock,
  isolation?: 'inline' | 'process',
): Promise<Fixture> {
  const table = new TestOperations();
  const control = new CoreLogControl('info', undefined);
  for (const id of ['core', 'spi']) control.component(id);
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config,
    ...(clock && { clock }),
    ...(isolation && { isolation }),
    services: [
      [operations, table],
      [logControl, control],
    ],
  });
  const folder = join(host.device.paths.var, 'log');
  const write = (file: string, ...lines: readonly (object | string)[]) => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(path, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  };
  const read = (params: object = {}) => table.run('logs.read', { limit: 100, ...params });
  const core = join(folder, 'core.log');
  return { host, table, core, control, write, read, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

/** A line as the Core's logger writes it. */
export function line(time: number, msg: string, more: object = {}): object {
  return { level: 30, time, ...more, msg };
}
