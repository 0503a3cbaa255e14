/** supervisor-systemd in a host of its own, with guests that are programs of the shell, where the warden of the box allows them. */
import { chmod, mkdir } from 'node:fs/promises';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { type AppSupervisor, appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { type AppLaunch, identity } from '@device-core/plugin-api/inside/services/identity';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { createTestHost, given } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/apps/supervisor-systemd/index.ts';
import { loadPeerReader } from '../../../plugins/interface/identity/peer-credentials.ts';
import type { SupervisorUnderTest } from '../../contracts/app-supervisor.ts';

const MANIFEST = new URL('../../../manifests/plugins/apps/supervisor-systemd.yaml', import.meta.url).pathname;
const USERS: Readonly<Record<string, number>> = { demo: 40_001, other: 40_002 };

export async function shellSpec(name: string, script: string): Promise<AppSpec> {
  const id = `com.example.${name}`;
  const [code, data, run] = [
    `/var/lib/device/app-store/${id}`,
    `/var/lib/device/apps/${id}/data`,
    `/run/device/apps/${name}`,
  ];
  await mkdir(code, { recursive: true });
  await chmod(code, 0o755);
  return {
    form: 1,
    kind: 'app',
    service: 'device',
    id,
    title: name,
    version: '1.0.0',
    name: `app-${name}`,
    program: '/bin/sh',
    args: ['-c', script],
    cwd: code,
    code,
    data,
    run,
    uid: USERS[name] ?? 40_003,
    env: { PATH: '/usr/bin:/bin', HOME: data, DEVICE_APP_ID: id },
    files: { read: [code], write: [data] },
    sockets: [run],
    network: 'none',
    nodes: [],
    hosts: [],
    listen: false,
    devices: [],
    groups: [],
    bare: false,
    limits: { memoryMaxMB: 128, cpuPercent: 50, tasksMax: 64, storageMB: 64, cacheMB: 64, openFiles: 256, logKBps: 64 },
    stopTimeoutMs: 3_000,
    runtime: 'native',
  };
}

export async function openUnits(): Promise<SupervisorUnderTest> {
  const launched: AppLaunch[] = [];
  const reader = await loadPeerReader();
  const paths: DeviceInfo['paths'] = { etc: '/etc/device', var: '/var/lib/device', run: '/run/device' };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    services: [
      given(device, { info: async () => ({ paths, service: 'device' }) as DeviceInfo }),
      given(identity, {
        launched: async (launch) => void launched.push(launch),
        peerOf: async (fd) => reader.read(fd),
      }),
    ],
  });
  return {
    launched,
    supervisor: sinceNow(host.service(appSupervisor)),
    spec: shellSpec,
    impossible: { mac: 'kernel' },
    oneStream: true,
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

/** The journal keeps what guests of former tests wrote, who had the same names. */
function sinceNow(supervisor: AppSupervisor): AppSupervisor {
  const began = Date.now();
  const output: AppSupervisor['output'] = async (name, lines, run) =>
    (await supervisor.output(name, lines, run)).filter(({ at }) => at >= began);
  return { ...supervisor, output };
}
