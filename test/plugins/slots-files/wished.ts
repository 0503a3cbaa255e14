/** Images that the contract of slots asks for, right and wrong. */
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SlotsBench } from '../../contracts/slots.ts';
import { testKey } from '../../fixtures/image-folder.ts';
import type { SlotDevice } from '../../fixtures/slot-device.ts';

export const PLUGINS = { operations: '^1.0.0', system: '^1.0.0', 'slots-files': '^1.0.0' };

export function wished(box: SlotDevice): SlotsBench['image'] {
  return async ({ version, wrong }) => {
    const over = wrong === 'platform' ? { platform: { os: 'linux', arch: 'sparc', libc: 'glibc' } as const } : {};
    const folder = box.image(version, { over, ...(wrong === 'signature' && { key: testKey() }) });
    if (wrong !== 'content') return folder;
    const blobs = join(folder, 'blobs');
    for (const name of globSync('*.zst', { cwd: blobs })) writeFileSync(join(blobs, name), 'no zstd');
    return folder;
  };
}
