/** Contents of the image of a SKU, from a checkout. */
import { posix } from 'node:path';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import type { Content } from '../list.ts';
import type { Checkout } from './checkout.ts';
import { licences } from './licences.ts';
import { javascriptOf, jsName, namedBy, packagesIn, renamed } from './modules.ts';
import { packageClosure, packageFiles } from './packages.ts';
import { runtime } from './runtime.ts';
import type { BuiltSku } from './sku.ts';

const API = 'plugin-api';
export const API_FOLDER = 'node_modules/@device-core/plugin-api';
/** Path of the SKU of the device in its image. */
export const skuPlace = (id: string): string => `manifests/skus/${id}.yaml`;
/** Text for a browser or for a scaffold: not modules of this image, whatever their names. */
const TEXTS = /^plugins\/interface\/(web\/ui|cli\/(app-)?templates)\//;
/** The loader lies beside the slots; the test kit and what makes packages or fonts are for the machine of a developer. */
const LEFT_OUT = [
  /^kernel\/(init|testing)$/,
  /^plugin-api\/(build|dist|testing\.ts|plugin-check\.ts)$/,
  /^plugins\/display\/render-soft\/font\/make\.ts$/,
  /\.(md|d\.ts)$/,
  /\/tsconfig\.json$/,
  /\/__pycache__$/,
];

export interface BuiltContents {
  readonly contents: Map<string, Content>;
  /** Paths below node_modules, of packages that are in it. */
  readonly packages: readonly string[];
}

/** Throws a Failure for a module that names a file which is not there. */
export function contentsOf(checkout: Checkout, { sku, text, plugins }: BuiltSku): BuiltContents {
  const contents = new Map<string, Content>();
  const modules = new Map<string, string>();
  const used = new Set<string>();
  const known = Object.keys({ ...checkout.package.dependencies, ...checkout.package.optionalDependencies });
  const put = (path: string, bytes: string | Uint8Array, mode: Content['mode'] = 0o644): void => {
    const content = Buffer.from(bytes);
    contents.set(path, { mode, bytes: () => content });
  };

  addTree('kernel', (path) => path);
  addTree(API, (path) => posix.join(API_FOLDER, path.slice(API.length)));
  for (const { folder, manifest } of plugins) {
    addTree(folder, (path) => path);
    put(manifest, manifestOf(checkout.text(manifest)));
  }
  // A common room comes along with the plugins that name it.
  const named = [...modules].flatMap(([path, code]) => namedBy(path, code));
  const rooms = new Set(named.flatMap((name) => /^plugins\/[^/]+\/shared(?=\/)/.exec(name) ?? []));
  for (const room of rooms) addTree(room, (path) => path);
  for (const path of checkout.files('manifests/schema', () => false)) contents.set(path, checkout.content(path));
  for (const path of ['skus/safe-mode.yaml', 'aliases.json', 'reserved.json'].map((name) => `manifests/${name}`))
    contents.set(path, checkout.content(path));
  put(skuPlace(sku.id), text);
  put('package.json', packageOf(checkout));
  contents.set('LICENSE', checkout.content('LICENSE'));
  checkNames(contents, modules);

  used.delete('@device-core/plugin-api');
  const packages = packageClosure(checkout, [...used].sort());
  for (const path of packages)
    for (const file of packageFiles(checkout, path)) contents.set(file, checkout.content(file));
  put('licences.txt', licences(checkout, packages));
  contents.set('bin/node', runtime(checkout.node));
  return { contents, packages };

  function addTree(folder: string, place: (path: string) => string): void {
    for (const path of checkout.files(folder, (one) => LEFT_OUT.some((pattern) => pattern.test(one)))) {
      const content = checkout.content(path);
      const isModule = /\.[jt]s$/.test(path) && !TEXTS.test(path);
      if (path === `${API}/package.json`) put(place(path), apiPackage(checkout));
      else if (!isModule) contents.set(place(path), content);
      else {
        const source = Buffer.from(content.bytes()).toString('utf8');
        const code = path.endsWith('.ts') ? javascriptOf(source) : renamed(source);
        modules.set(jsName(place(path)), code);
        put(jsName(place(path)), code, content.mode);
      }
      // A page names its libraries in the plugin that serves it.
      if (isModule) for (const name of packagesIn(modules.get(jsName(place(path)))!, known)) used.add(name);
    }
  }
}

/** Every name of a module leads to a file of the image: what is loaded late is found here and not on a device. */
function checkNames(contents: ReadonlyMap<string, Content>, modules: ReadonlyMap<string, string>): void {
  for (const [path, code] of modules)
    for (const name of namedBy(path, code)) {
      if (contents.has(name)) continue;
      throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `${path} names ${name}, which is not in the image`);
    }
}

/** The manifest of a plugin, with its modules as they are named in an image. */
const manifestOf = (text: string): string => text.replaceAll(/(\bmain"?: *['"]?[^\s'",}]+)\.ts\b/g, '$1.js');

function apiPackage(checkout: Checkout): string {
  const file = JSON.parse(checkout.text(`${API}/package.json`));
  for (const door of ['./testing', './plugin-check']) delete file.exports[door];
  return `${JSON.stringify(file, null, 2).replaceAll(/(": "\.\/.*)\.ts"/g, '$1.js"')}\n`;
}

/** Modules are modules of ECMAScript here, too. */
function packageOf({ package: { version, license } }: Checkout): string {
  return `${JSON.stringify({ name: 'device-core', version, private: true, license, type: 'module' }, null, 2)}\n`;
}
