/** The files of the system that make a device of a checkout: where each lies, and what it says. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { render, spliced, type Values } from './render.ts';

/** Text of `systemd/` -> its place. */
const PLACES: Readonly<Record<string, string>> = {
  'core.service': 'usr/lib/systemd/system/@SERVICE@-core.service',
  'warden.service': 'usr/lib/systemd/system/@SERVICE@-warden.service',
  'warden.socket': 'usr/lib/systemd/system/@SERVICE@-warden.socket',
  'profile@.service': 'usr/lib/systemd/system/@SERVICE@-profile@.service',
  'credentials.socket': 'usr/lib/systemd/system/@SERVICE@-credentials.socket',
  'apps.slice': 'usr/lib/systemd/system/@SERVICE@-apps.slice',
  'sysusers.conf': 'usr/lib/sysusers.d/@SERVICE@.conf',
  'tmpfiles.conf': 'usr/lib/tmpfiles.d/@SERVICE@.conf',
  preset: 'usr/lib/systemd/system-preset/50-@SERVICE@.preset',
  'udev.rules': 'usr/lib/udev/rules.d/70-@SERVICE@.rules',
  'apparmor/core': 'etc/apparmor.d/@SERVICE@-core',
};
const OF_CHECKOUT: Readonly<Record<string, string>> = {
  'safe.service': 'usr/lib/systemd/system/@SERVICE@-safe.service',
};
const OF_SLOTS: Readonly<Record<string, string>> = {
  'slots.service': 'usr/lib/systemd/system/@SERVICE@-slots.service',
  'slots.socket': 'usr/lib/systemd/system/@SERVICE@-slots.socket',
};
/** Links that make systemd start them at boot. */
const WANTED: Readonly<Record<string, string>> = {
  'etc/systemd/system/multi-user.target.wants/@SERVICE@-core.service': '@SERVICE@-core.service',
  'etc/systemd/system/sockets.target.wants/@SERVICE@-warden.socket': '@SERVICE@-warden.socket',
  'etc/systemd/system/sockets.target.wants/@SERVICE@-credentials.socket': '@SERVICE@-credentials.socket',
};
const WANTED_SLOTS: Readonly<Record<string, string>> = {
  'etc/systemd/system/sockets.target.wants/@SERVICE@-slots.socket': '@SERVICE@-slots.socket',
};
const UNITS = 'usr/lib/systemd/system';

export interface SystemFiles {
  /** Path below the root -> text. */
  readonly texts: Readonly<Record<string, string>>;
  /** Path below the root -> what the link leads to. */
  readonly links: Readonly<Record<string, string>>;
}

/** The first systemd that keeps descriptors over a stop. */
const PRESERVES = 254;

interface MadeOfSku {
  readonly sku: string;
  readonly dropIn: string;
  readonly profile: string;
  readonly warden: object;
  /** Version of the systemd that reads the files; 0 where it is not known. */
  readonly systemd?: number;
}

/**
 * `checkout` has the folder `systemd`; `sku` is the text of the SKU; `dropIn`, `profile` and `warden` were made of it. Of a
 * device with slots the image has the SKU.
 */
export async function systemFiles(
  checkout: string,
  values: Values,
  { sku, dropIn, profile, warden, systemd = 0 }: MadeOfSku,
): Promise<SystemFiles> {
  const { service, slots = false } = values;
  const texts: Record<string, string> = {};
  const read = (name: string) => readFile(join(checkout, 'systemd', name), 'utf8');
  const part = await read(slots ? 'core.slots.conf' : 'core.checkout.conf');
  for (const [name, place] of Object.entries({ ...PLACES, ...(slots ? OF_SLOTS : OF_CHECKOUT) }))
    texts[render(place, values)] = render(spliced(await read(name), part), values);
  texts[`${UNITS}/${service}-core.service.d/50-sku.conf`] = dropIn;
  if (systemd >= PRESERVES) texts[`${UNITS}/${service}-core.service.d/40-store.conf`] = await read('core.store.conf');
  texts[`etc/apparmor.d/${service}-core.d/sku`] = profile;
  if (!slots) texts[`etc/${service}/sku.yaml`] = sku;
  texts[`etc/${service}/warden.json`] = `${JSON.stringify(warden, null, 2)}\n`;
  const links = Object.entries({ ...WANTED, ...(slots && WANTED_SLOTS) }).map(([link, unit]) => [
    render(link, values),
    `/${UNITS}/${render(unit, values)}`,
  ]);
  return { texts, links: Object.fromEntries(links) };
}
