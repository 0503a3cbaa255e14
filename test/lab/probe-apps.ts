/** Apps that run the table of `fixtures/probe`, one for each language and for what is granted; another app, and a SKU that starts them. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SMALL_SKU } from '../fixtures/installed-core.ts';
import { type Row, type Situation, table, type World } from '../fixtures/probe/table.ts';
import { copied } from './device-box.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/probe');
const HOST = 'network.outbound:api.example.com';
const LAMP = 'sensors.node:lamp';
/** TCP of the Core, and an address that is not the loopback's, on which the test listens. */
export const PORT = 55_280;
export const OUTSIDE = { host: '192.0.2.7', port: 45_678 } as const;
/** The machine's second serial port: no app finds it by itself. */
export const NODE = '/dev/ttyS1';
const LANGUAGES = { node: ['main.mjs'], python: ['-B', 'main.py'] } as const;
const GRANTS = {
  none: [],
  hosts: [HOST, LAMP, 'storage-scoped'],
  open: ['network.outbound', LAMP, 'storage-scoped'],
} as const;

/** Python that gives the loopback an address more and listens there; it has no other tool. */
export const LISTEN = '/opt/listen.py';
const LISTENS = `import fcntl, socket, struct
ADD_ADDRESS = 0x8916
request = struct.pack("16sH2x4s8x", b"lo:1", socket.AF_INET, socket.inet_aton("${OUTSIDE.host}"))
fcntl.ioctl(socket.socket(), ADD_ADDRESS, request)
server = socket.create_server(("${OUTSIDE.host}", ${OUTSIDE.port}))
while True:
    server.accept()[0].close()
`;
/** Python that enters a control group and connects to a host and a port. */
export const CONNECT = '/opt/connect.py';
const CONNECTS = `import errno, os, socket, sys
group, host, port = sys.argv[1:]
with open(f"/sys/fs/cgroup/{group}/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
try:
    socket.create_connection((host, int(port)), 10)
    print("done")
except TimeoutError:
    print("ETIMEDOUT")
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
`;

export interface Probe {
  readonly name: string;
  readonly language: keyof typeof LANGUAGES;
  readonly network: Situation['network'];
}

export const PROBES: readonly Probe[] = (Object.keys(LANGUAGES) as Probe['language'][]).flatMap((language) =>
  (Object.keys(GRANTS) as Probe['network'][]).map((network) => ({ name: `${language}-${network}`, language, network })),
);
const idOf = ({ name }: Probe) => `com.example.${name}`;
const codeOf = ({ name }: Probe) => `/opt/apps/${name}`;

/** The system's own AppArmor and address rules are demanded: a row that either leaves open is wrong. */
export function rowsOf(probe: Probe): readonly Row[] {
  const { name, network } = probe;
  const state = '/var/lib/device/apps';
  const world: World = {
    own: {
      code: codeOf(probe),
      data: `${state}/${idOf(probe)}/data`,
      cache: `${state}/${idOf(probe)}/cache`,
      token: `/run/credentials/app-${name}.service/token`,
      socket: `/run/device/apps/${name}/rpc.sock`,
      shared: '/run/device/shared/core.sock',
    },
    others: {
      'data of another': `${state}/com.example.agenda/data/appointments.json`,
      'code of another': '/opt/apps/other/main.js',
      "the operator's token": '/run/device/operator.token',
      'the SKU': '/etc/device/sku.yaml',
      'what the warden allows': '/etc/device/warden.json',
      'the log of the Core': '/var/lib/device/log/core.log',
    },
    otherSocket: '/run/device/apps/agenda/rpc.sock',
    otherFolder: '/run/device/apps/agenda',
    node: NODE,
    neighbour: '/dev/loop-control',
    pid: 1,
    port: PORT,
    outside: OUTSIDE,
  };
  return table(world, { by: 'systemd', network, granted: network !== 'none', addresses: 'kernel', mac: 'kernel' });
}

const FOLDERS = JSON.stringify(['apps/agenda', ...PROBES.map(codeOf)]);
const DEMAND = ['user', 'files', 'devices', 'network', 'syscalls', 'memory', 'tasks', 'mac'].map(
  (kind) => `${kind}: kernel`,
);
export const PROBE_SKU = `${SMALL_SKU.replace(
  '  rpc:',
  `  apps: { version: ^1.0.0, config: { folders: ${FOLDERS}, parallelStarts: 1, nodes: { lamp: { path: ${NODE}, access: rw, group: dialout } }, demand: { ${DEMAND.join(', ')} } } }
  app-store: ^1.0.0
  supervisor-systemd: ^1.0.0
  egress: ^1.0.0
  rpc:`,
)}grants: ${JSON.stringify(Object.fromEntries(PROBES.map((probe) => [idOf(probe), GRANTS[probe.network]])))}
`;

export function placeProbes(root: string): void {
  copied('docs/examples/agenda', root, 'usr/lib/device/apps/agenda');
  mkdirSync(join(root, 'opt/apps/other'), { recursive: true });
  writeFileSync(join(root, 'opt/apps/other/main.js'), 'secret');
  writeFileSync(join(root, LISTEN), LISTENS);
  writeFileSync(join(root, CONNECT), CONNECTS);
  for (const probe of PROBES) {
    const { name, language, network } = probe;
    const code = join(root, codeOf(probe));
    mkdirSync(code, { recursive: true });
    for (const [from, to] of [
      ['walls.mjs', 'main.mjs'],
      ['walls.py', 'main.py'],
    ] as const)
      copyFileSync(join(FIXTURES, from), join(code, to));
    if (language === 'node')
      for (const library of ['koffi', `@koromix/koffi-linux-${process.arch}`])
        copied(`node_modules/${library}`, root, `${codeOf(probe)}/node_modules/${library}`);
    const rows = rowsOf(probe).map(({ name: row, try: one }) => ({ name: row, try: one }));
    writeFileSync(join(code, 'tries.json'), JSON.stringify(rows));
    const manifest = {
      manifestVersion: 1,
      id: idOf(probe),
      name,
      version: '1.0.0',
      title: name,
      minCore: '0.1.0',
      runtime: { kind: language },
      exec: { command: language === 'python' ? 'python3' : 'node', args: LANGUAGES[language] },
      capabilities: GRANTS[network].map((id) => ({ id, reason: 'it tries' })),
      lifecycle: { autostart: false, restart: 'never' },
      health: { kind: 'none' },
    };
    writeFileSync(join(code, 'app.yaml'), JSON.stringify(manifest));
  }
}
