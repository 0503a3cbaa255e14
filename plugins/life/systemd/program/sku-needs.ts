/** Access that the Core's unit must open for the plugins of a SKU. */
import { maybe, type SkuManifest } from '@device-core/plugin-api';
import { profilePath } from '@device-core/plugin-api/inside/app-spec';

export interface Needs {
  /** Values of DeviceAllow=, without the access. */
  readonly devices: readonly string[];
  readonly groups: readonly string[];
  /** Families of sockets beyond those of the unit. */
  readonly families: readonly string[];
  /** Plugin that reaches beyond the device, if one does. */
  readonly network?: string;
}

type Config = Readonly<Record<string, unknown>>;
type Need = (config: Config) => Partial<Needs>;

const NODE = /^\/dev\/[A-Za-z0-9][A-Za-z0-9._:/-]*$/;
const CHIP = /^gpiochip\d{1,4}$/;

/** Nodes of the buses that a host plugin lists, for the members of a group. */
const nodesOf = (listed: unknown, group: string): Partial<Needs> => {
  const devices = (Array.isArray(listed) ? listed : []).map((one) => String(Object(one).path));
  return devices.length > 0 ? { devices, groups: [group] } : {};
};

/**
 * Needs of plugins that open nodes of the host; those that reach out say so in their manifests (`network.outbound`).
 */
const NEEDS: Readonly<Record<string, Need>> = {
  'port-spidev': ({ device, dataReady, reset }) => {
    const chips = [dataReady, reset].flatMap((pin) => {
      const { chip } = (pin ?? {}) as { readonly chip?: unknown };
      return typeof chip === 'string' && CHIP.test(chip) ? [`/dev/${chip}`] : [];
    });
    return { devices: [String(device), ...chips], groups: ['spi', ...(chips.length > 0 ? ['gpio'] : [])] };
  },
  'host-i2c': ({ buses }) => nodesOf(buses, 'i2c'),
  'host-spi': ({ buses }) => nodesOf(buses, 'spi'),
  'host-gpio': ({ chips }) => nodesOf(chips, 'gpio'),
  'host-uart': ({ lines }) => nodesOf(lines, 'dialout'),
  'host-can': () => ({ families: ['AF_CAN'] }),
  'audio-alsa': () => ({ devices: ['char-alsa'], groups: ['audio'] }),
  'panel-fbdev': ({ device = '/dev/fb0' }) => ({ devices: [String(device)], groups: ['video'] }),
  'panel-drm': ({ device = '/dev/dri/card0' }) => ({ devices: [String(device)], groups: ['video'] }),
  // Their numbers change with what is plugged in: all of them or none.
  'input-evdev': () => ({ devices: ['char-input'], groups: ['input'] }),
  wyoming: (config) => (Object.keys(config).length > 0 ? { network: 'wyoming' } : {}),
};

/** Plugins that reach out when their configuration says where to, and not because they are there. */
const ONLY_WITH: Readonly<Record<string, (config: Config) => boolean>> = {
  updater: ({ url }) => typeof url === 'string',
};

/** `reachesOut`: whether the manifest of a plugin says that it reaches beyond the device. Throws for a path that is no node. */
export function needsOf({ plugins }: SkuManifest, reachesOut: (plugin: string) => boolean): Needs {
  const devices = new Set<string>();
  const groups = new Set<string>();
  const families = new Set<string>();
  let network: string | undefined;
  for (const [id, line] of Object.entries(plugins)) {
    const { enabled = true, config = {} } = typeof line === 'string' ? {} : line;
    if (!enabled) continue;
    const need = NEEDS[id]?.(config) ?? {};
    for (const device of need.devices ?? []) {
      if (!/^char-[a-z]+$/.test(device) && !NODE.test(device))
        throw new Error(`plugin ${id} names no device node: ${device}`);
      devices.add(device);
    }
    for (const group of need.groups ?? []) groups.add(group);
    for (const family of need.families ?? []) families.add(family);
    network ??= need.network ?? (reachesOut(id) && ONLY_WITH[id]?.(config) !== false ? id : undefined);
  }
  return {
    devices: [...devices].sort(),
    groups: [...groups].sort(),
    families: [...families].sort(),
    ...maybe({ network }),
  };
}

/** `50-sku.conf`: what the unit of the Core opens for a SKU, and nothing else. */
export function dropInOf({ devices, groups, families, network }: Needs, sku: string): string {
  const lines = [`# What SKU ${sku} needs beyond the unit. Made by devicectl system install.`, '[Service]'];
  if (devices.length > 0) {
    lines.push(
      "# PrivateDevices would hide the nodes; the device's own list still refuses all others.",
      'PrivateDevices=no',
    );
    lines.push(...devices.map((device) => `DeviceAllow=${device} rw`));
    lines.push('# The nodes are their groups’.', `SupplementaryGroups=${groups.join(' ')}`);
  }
  if (families.length > 0) lines.push(`RestrictAddressFamilies=${families.join(' ')}`);
  if (network !== undefined) lines.push(`# Plugin ${network} reaches beyond the device.`, 'IPAddressAllow=any');
  return `${lines.join('\n')}\n`;
}

/** `<service>-core.d/sku`: what the AppArmor profile of the Core opens for a SKU. Its rules end with a comma, and there may be none. */
export function profileLinesOf({ plugins, id }: SkuManifest, { devices, families }: Needs): string {
  const { folders = [] } = (typeof plugins.apps === 'object' ? plugins.apps.config : undefined) ?? {};
  const named = Object.values(plugins).flatMap((line) =>
    typeof line === 'object' && line.path !== undefined ? [line.path] : [],
  );
  const own = [...(Array.isArray(folders) ? folders : []), ...named].filter(
    (one) => typeof one === 'string' && one.startsWith('/'),
  );
  const lines = [
    `# What SKU ${id} needs beyond the profile. Made by devicectl system install.`,
    ...own.map((folder) => `${profilePath(folder, '/{,**}')} mr,`),
    ...devices.filter((device) => device.startsWith('/')).map((device) => `${profilePath(device)} rw,`),
    // The profile sees the node behind a link. The device list of the unit still refuses all other lines.
    ...(devices.some((device) => device.startsWith('/dev/serial')) ? ['/dev/tty[A-Z]*[0-9] rw,'] : []),
    ...families.map((family) => `network ${family.slice('AF_'.length).toLowerCase()},`),
  ];
  return `${lines.join('\n')}\n`;
}
