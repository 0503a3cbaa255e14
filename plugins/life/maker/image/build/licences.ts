/** `licences.txt`: under what each part of an image comes, with the texts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Checkout } from './checkout.ts';

const TEXT = /^(licen[cs]e|copying|notice)/i;
const RULE = `\n${'='.repeat(80)}\n`;

export function licences(checkout: Checkout, packages: readonly string[]): string {
  const parts = [
    part('device-core', checkout.package.version, checkout.package.license, checkout.folder),
    part('node', process.version.slice(1), 'MIT and others', dirname(dirname(checkout.node))),
    ...packages.map((path) => {
      const { version = '', license = 'not said', name = nameOf(path) } = checkout.locked[path] ?? {};
      return part(name, version, license, checkout.path(path));
    }),
  ];
  return `${parts.join(RULE)}`;
}

/** `node_modules/a/node_modules/@b/c` -> `@b/c` */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

function part(name: string, version: string, licence: string, folder: string): string {
  const names = existsSync(folder) ? readdirSync(folder).filter((one) => TEXT.test(one)) : [];
  const texts = names.sort().map((one) => readFileSync(join(folder, one), 'utf8').trimEnd());
  return `${name} ${version}: ${licence}\n${texts.map((text) => `\n${text}\n`).join('')}`;
}
