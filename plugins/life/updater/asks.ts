/** New demands of an image compared with the running one: capabilities of its plugins, and forms of state. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeCapability, stateChanges } from '@device-core/plugin-api';
import { IMAGE_LIST, type Image, type ImageFile, parseImage } from '@device-core/plugin-api/inside/image';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import type { Asks, NewClaim, StateChange } from './record.ts';

/** Root of the image, or the checkout, that runs. */
export const RUNNING = fileURLToPath(new URL('../../../', import.meta.url));
/** Longest manifest of a plugin, in bytes: manifests are fetched before anybody is asked. */
export const LONGEST_MANIFEST = 256 << 10;

/** The list of what runs; undefined in a checkout. */
export async function runningImage(root = RUNNING): Promise<Image | undefined> {
  try {
    return parseImage(await readFile(join(root, IMAGE_LIST)));
  } catch {
    return undefined; // a checkout; an image whose list is damaged is the loader's business
  }
}

/** Manifests of plugins that the image has, however long. */
export const manifestsOf = ({ files, plugins }: Image): readonly (ImageFile & { readonly plugin: string })[] =>
  files.flatMap((file) => {
    const plugin = /^manifests\/plugins\/(?:[^/]+\/)*([a-z][a-z0-9-]*)\.(?:yaml|json)$/.exec(file.path)?.[1];
    return plugin !== undefined && plugins[plugin] !== undefined ? [{ ...file, plugin }] : [];
  });

/** `read` gives the content of a file of the image, undefined where it is the same as in what runs. */
export async function asksOf(
  image: Image,
  read: (file: ImageFile) => Promise<string | undefined>,
  root = RUNNING,
): Promise<Asks> {
  const claims: NewClaim[] = [];
  for (const file of manifestsOf(image)) {
    const text = await read(file);
    if (text === undefined) continue;
    const former = await readFile(join(root, file.path), 'utf8').catch(() => ''); // a plugin that is new
    const has = capabilitiesOf(former);
    for (const capability of capabilitiesOf(text)) {
      if (has.has(capability)) continue;
      const summary = describeCapability(capability)?.summary ?? 'this capability is unknown here';
      claims.push({ plugin: file.plugin, capability, summary });
    }
  }
  const forms = formsBetween(await runningImage(root), image);
  const asked = { claims, forms: forms.filter(({ way }) => way !== 'both') };
  const open = asked.claims.length + asked.forms.length > 0;
  return { claims, forms, ...(open ? { digest: digestOf(asked) } : {}) };
}

/** Stores whose form is another one afterwards. */
export function formsBetween(running: Pick<Image, 'state'> | undefined, next: Pick<Image, 'state'>): StateChange[] {
  return stateChanges(running?.state ?? {}, next.state).map(({ store, from, to, forth, back }) => {
    const way = !forth ? 'lost' : back ? 'both' : 'one-way';
    return { store, from, to, way };
  });
}

function capabilitiesOf(text: string): Set<string> {
  const { capabilities } = Object(parseYaml(text).value) as { readonly capabilities?: unknown };
  return new Set(Array.isArray(capabilities) ? capabilities.filter((one) => typeof one === 'string') : []);
}

/** Short enough to be typed. */
const digestOf = (asked: object): string =>
  createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 12);
