/** Facts that the Core would derive from its manifests at every start: derived once, here, and signed with the rest. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import type { Content, Contents } from '../list.ts';
import { unpack } from '../write.ts';

/** As the Core names it (kernel/boot/known-good.ts). */
export const KNOWN_GOOD = 'manifests/known-good';

/** The modules are those of the image: what they remember is good for them alone. */
const SCRIPT = `
const [slot, sku] = process.argv.slice(1);
const { useKnownGood } = await import(slot + '/kernel/boot/manifests.js');
const { resolveSku } = await import(slot + '/kernel/boot/check.js');
const known = useKnownGood(slot + '/manifests', true);
const file = slot + '/' + sku;
resolveSku(file);
resolveSku(slot + '/manifests/skus/safe-mode.yaml', [], undefined, undefined, file);
await known.keep();
`;

/** `node` is the runtime of the image, `sku` the place of its SKU. Throws a Failure. */
export function knownGoodOf(contents: Contents, node: string, sku: string): Content {
  const folder = mkdtempSync(join(tmpdir(), 'device-image-'));
  try {
    unpack(new Map([...contents].filter(([path]) => path !== 'bin/node')), folder);
    const words = ['--input-type=module', '--eval', SCRIPT, folder, sku];
    const { status, stderr } = spawnSync(node, words, { encoding: 'utf8', cwd: folder });
    if (status !== 0)
      throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `its manifests cannot be read: ${stderr.trim()}`);
    const bytes = readFileSync(join(folder, KNOWN_GOOD));
    return { mode: 0o644, bytes: () => bytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
