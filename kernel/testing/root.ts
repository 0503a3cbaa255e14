import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SkuManifest } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';

/** The SKU of a test. */
export const TEST_SKU: SkuManifest = { skuVersion: 1, id: 'test', title: 'Test device', simulated: true, plugins: {} };

export interface TemporaryRoot extends Disposable {
  readonly paths: DeviceInfo['paths'];
}

/** Root for the files of a device; the kernel makes its folders. The path is short, because Unix sockets end at 107 bytes. */
export function temporaryRoot(): TemporaryRoot {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  return { paths, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}
