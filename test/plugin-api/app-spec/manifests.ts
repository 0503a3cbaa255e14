/** The manifests whose specifications, units and profiles are kept as golden files. */
import type { GuestManifest, GuestPlace, SkuOfApps } from '@device-core/plugin-api/inside/app-spec';

export const SKU: SkuOfApps = {
  nodes: {
    camera: { path: '/dev/video0', access: 'rw', group: 'video' },
    meter: { path: '/dev/ttyUSB0', access: 'r' },
  },
  ceilings: { memoryMaxMB: 512 },
};

export const PATHS = { run: '/run/device' } as const;

function app(
  name: string,
  more: Partial<GuestManifest>,
  ...capabilities: GuestManifest['capabilities']
): GuestManifest {
  const base = {
    id: `com.example.${name}`,
    name,
    title: name,
    version: '1.4.0',
    exec: { command: 'node', args: ['main.js'] },
  };
  return { ...base, capabilities, ...more };
}

export const MANIFESTS: Readonly<Record<string, GuestManifest>> = {
  nothing: app('nothing', {}),
  storage: app(
    'storage',
    { resources: { storageMB: 16, memoryMaxMB: 64, tasksMax: 32, openFiles: 128 } },
    { id: 'storage-scoped' },
  ),
  'named-host': app(
    'agenda',
    {},
    { id: 'network.outbound:api.example.com', ports: [443, 8443] },
    { id: 'storage-scoped' },
  ),
  'open-network': app('browser', {}, { id: 'network.outbound' }),
  listen: app('server', {}, { id: 'network.listen' }, { id: 'network.outbound' }),
  node: app('lens', {}, { id: 'sensors.node:camera' }, { id: 'bridges.node:meter' }, { id: 'storage-scoped' }),
  voice: app('butler', {}, { id: 'audio.intent' }, { id: 'audio.playback' }, { id: 'display.notify' }),
  python: app('snake', { exec: { command: 'python3', args: ['-B', 'main.py'] } }, { id: 'storage-scoped' }),
  static: app('rock', { runtime: { kind: 'static' }, exec: { command: 'bin/rock' } }),
  strange: app('strange', {
    exec: {
      command: 'node',
      args: ['a b', '$HOME $' + '{HOME}', '%n', 'quote " and \' and \\', 'two\nlines', ';', ''],
      env: { GREETING: 'ä "%t" $x \\\n' },
    },
  }),
};

/** As on a device with a store and users. */
export function placeOf({ id, name, exec }: GuestManifest, uid: number | undefined = 40_001): GuestPlace {
  const code = `/var/lib/device/app-store/${id}/1.4.0+0123456789ab`;
  const run = `/run/device/apps/${name}`;
  return {
    service: 'device',
    code,
    program: exec.command.includes('/') ? `${code}/${exec.command}` : `/usr/bin/${exec.command}`,
    data: `/var/lib/device/apps/${id}/data`,
    cache: `/var/lib/device/apps/${id}/cache`,
    run,
    rpc: `${run}/rpc.sock`,
    shared: { folder: '/run/device/shared', socket: '/run/device/shared/core.sock', usual: '/run/device/core.sock' },
    ...(uid === undefined ? {} : { uid }),
    path: '/usr/local/bin:/usr/bin:/bin',
    lang: 'C.UTF-8',
  };
}
