/** Initial RAM file systems of the lab's machines: one that is the whole machine, and one that only leads to a disk. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Archive } from './archive.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = ['koffi', '@koromix/koffi-linux-x64', 'ajv', 'tapable', 'semver', 'yaml', 'pino', 'fast-check'];
export const PROGRAMS = ['/bin/sh', '/bin/cat', '/bin/mount', '/bin/stty', '/sbin/insmod', '/bin/mkdir'];
export const SWITCH_ROOT = '/sbin/switch_root';
const DISK_MODULES = ['virtio_pci', 'virtio_blk', 'crc32c_generic', 'ext4'];

/** Node, koffi and this checkout, with the program of `guest/main.ts`. */
export function checkoutInitrd(path: string, modulesFolder: string, modules: readonly string[]): void {
  using archive = new Archive(path);
  const inserted = begin(archive, modulesFolder, modules);
  archive.program('bin/node', join(ROOT, 'node_modules/.bin/node'));
  archive.file(
    'init',
    [
      ...inserted,
      'stty -F /dev/ttyS0 raw -echo',
      'exec node /core/test/lab/guest/main.ts </dev/ttyS0 >/dev/ttyS0',
      '',
    ].join('\n'),
    true,
  );
  const source = (file: string) => !/\.(md|wav)$/.test(file);
  for (const folder of ['kernel', 'plugin-api', 'plugins', 'manifests', 'test/lab', 'test/fixtures', 'test/contracts'])
    archive.tree(`core/${folder}`, join(ROOT, folder), source);
  archive.file('core/package.json', readFileSync(join(ROOT, 'package.json')));
  archive.link('core/node_modules/@device-core/plugin-api', '../../plugin-api');
  for (const name of closure(PACKAGES)) archive.tree(`core/node_modules/${name}`, join(ROOT, 'node_modules', name));
}

/** Modules for a disk with a system on it, which is started in its place. */
export function diskInitrd(path: string, modulesFolder: string, modules: readonly string[]): void {
  using archive = new Archive(path);
  const inserted = begin(archive, modulesFolder, [...DISK_MODULES, ...modules]);
  archive.program('bin/switch_root', SWITCH_ROOT);
  archive.folder('root');
  const lines = ['mount -t ext4 -o rw /dev/vda /root', 'exec switch_root /root /sbin/init', ''];
  archive.file('init', [...inserted, ...lines].join('\n'), true);
}

/** Puts the shell and the modules into an archive, and gives the first lines of its `init`. */
function begin(archive: Archive, modulesFolder: string, modules: readonly string[]): readonly string[] {
  for (const folder of ['proc', 'sys', 'dev', 'tmp', 'run']) archive.folder(folder);
  for (const program of PROGRAMS) archive.program(`bin/${program.split('/').at(-1)}`, program);
  const ordered = withNeeds(modulesFolder, modules);
  for (const { name, file } of ordered) archive.file(`modules/${name}.ko`, readFileSync(file));
  return [
    '#!/bin/sh',
    'export PATH=/bin HOME=/tmp NODE_DISABLE_COMPILE_CACHE=1',
    'mount -t devtmpfs dev /dev && mount -t proc proc /proc && mount -t sysfs sys /sys',
    ...ordered.map(({ name, parameters }) => `insmod /modules/${name}.ko ${parameters}`),
  ];
}

/** Packages with what they depend on. */
function closure(names: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (name: string) => {
    const file = join(ROOT, 'node_modules', name, 'package.json');
    if (found.has(name) || !existsSync(file)) return;
    found.add(name);
    const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies?: Record<string, string> };
    Object.keys(dependencies).forEach(visit);
  };
  names.forEach(visit);
  return [...found];
}

interface Module {
  readonly name: string;
  readonly file: string;
  readonly parameters: string;
}

/** With those that they need before them. */
function withNeeds(folder: string, wanted: readonly string[]): readonly Module[] {
  const files = new Map<string, string>();
  const paths = readdirSync(join(folder, 'kernel'), { recursive: true, encoding: 'utf8' });
  for (const path of paths) {
    const name = /([^/]+)\.ko$/.exec(path)?.[1]?.replaceAll('-', '_');
    if (name !== undefined) files.set(name, join(folder, 'kernel', path));
  }
  const ordered = new Map<string, Module>();
  const visit = (name: string, parameters: string) => {
    const file = files.get(name);
    // What is built in needs no file.
    if (ordered.has(name) || file === undefined) return;
    const needs = execFileSync('/sbin/modinfo', ['-F', 'depends', file], { encoding: 'utf8' }).trim();
    for (const need of needs.split(',').filter((one) => one !== '')) visit(need.replaceAll('-', '_'), '');
    ordered.set(name, { name, file, parameters });
  };
  for (const line of wanted) {
    const [name = '', ...parameters] = line.split(' ');
    visit(name, parameters.join(' '));
  }
  return [...ordered.values()];
}
