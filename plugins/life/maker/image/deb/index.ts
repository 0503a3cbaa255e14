import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { IMAGE_LIST } from '@device-core/plugin-api/inside/image';
import { defineProgram, EXIT, Failure } from '@device-core/plugin-api/program';
import { asFolder, writeArchive } from '../archive.ts';
import { Checkout } from '../build/checkout.ts';
import { loaderTree } from '../build/tree.ts';
import { loaderOf, serviceOf, skuText, units } from '../install/index.ts';
import { openImage } from '../source.ts';
import { checkFiles, keysFrom, signers } from '../verify.ts';
import { unpack } from '../write.ts';
import { control, SCRIPTS } from './scripts.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../../../..');
/** Folders taken from the tree that `system install` writes to: its other folders are made by systemd on the device. */
const OURS = ['usr', 'etc/systemd', 'etc/apparmor.d'];
const FIRST = 'plugins/life/maker/image/install/first.ts';

interface Args {
  readonly image: string;
  readonly keys: string;
  readonly out: string;
  readonly maintainer: string;
  readonly source: string;
}

/** `devicectl image deb` */
export const program = defineProgram<Args>({
  description:
    'A Debian package of an image: loader, keys, units, and the image as a file. Installed it makes a device; a newer one is an ordinary update with its probation.',
  params: {
    type: 'object',
    required: ['image', 'keys', 'out'],
    properties: {
      image: { type: 'string', description: 'folder of the image, signed' },
      keys: { type: 'string', description: 'keys.json: who may sign what the device starts' },
      out: { type: 'string', description: 'file of the package' },
      maintainer: { type: 'string', default: 'Nobody <nobody@localhost>', description: 'name and address' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout that gives loader and units' },
    },
  },
  cli: { fixed: ['image'], flags: { out: ['out', 'o'] } },
  async run({ out, args }) {
    const checkout = new Checkout(args.source);
    const keys = keysFrom(args.keys);
    const file = resolve(args.out);
    const folder = mkdtempSync(join(tmpdir(), 'device-deb-'));
    try {
      using source = openImage(args.image);
      // An image that no device would take is refused here, not by dpkg on each of them.
      signers(args.image, source, keys);
      checkFiles(args.image, source);
      const service = serviceOf(source);
      const tree = join(folder, 'tree');
      const put = (path: string, text: string, mode = 0o644): void => {
        mkdirSync(dirname(join(tree, path)), { recursive: true });
        writeFileSync(join(tree, path), text);
        chmodSync(join(tree, path), mode);
      };
      const sku = join(folder, 'sku.yaml');
      writeFileSync(sku, skuText(source));
      mkdirSync(join(folder, 'root'));
      units(checkout, join(folder, 'root'), sku, service);
      for (const path of [...OURS, `etc/${service}`])
        if (existsSync(join(folder, 'root', path)))
          cpSync(join(folder, 'root', path), join(tree, path), { recursive: true, verbatimSymlinks: true });
      const { contents, list } = loaderOf(checkout);
      unpack(
        new Map(contents).set(IMAGE_LIST, { mode: 0o644, bytes: () => list.bytes }),
        join(tree, `usr/lib/${service}/boot`),
      );
      const tools = loaderTree(checkout, [FIRST]);
      tools.delete('bin/node');
      unpack(tools, join(tree, `usr/lib/${service}/tools`));
      put(`usr/share/${service}/keys.json`, `${JSON.stringify(keys, null, 2)}\n`);
      mkdirSync(join(tree, `usr/share/${service}/image`), { recursive: true });
      writeArchive(
        asFolder(args.image, source, join(folder, 'image')),
        join(tree, `usr/share/${service}/image/image.tar`),
      );
      put('DEBIAN/control', control(source.image, service, args.maintainer));
      for (const [name, text] of Object.entries(SCRIPTS))
        put(`DEBIAN/${name}`, text.replaceAll('@SERVICE@', service), 0o755);
      packed(tree, `${file}.new`, source.image.builtAt);
      renameSync(`${file}.new`, file);
      const about = { file, package: service, version: source.image.version, image: source.hash };
      await out.line(
        out.json ? JSON.stringify({ ok: true, ...about }) : `${args.out}: ${service} ${about.version}, ${about.image}`,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

/**
 * Any dpkg reads gzip; the image is compressed already, the Node of the loader is not. The same image makes the same
 * package: no time is later than that of its commit, and no owner is ours.
 */
function packed(tree: string, file: string, time: number): void {
  const words = ['--root-owner-group', '-Zgzip', '-z6', '--build', tree, file];
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(time), LC_ALL: 'C' };
  const { status, stderr, error } = spawnSync('dpkg-deb', words, { encoding: 'utf8', env });
  if (status === 0) return;
  throw new Failure(EXIT.answered, 'INTERNAL', `dpkg-deb: ${error?.message ?? stderr.trim()}`, {
    hint: error === undefined ? undefined : 'apt-get install dpkg',
  });
}
