import type { AppSpec } from '../../contract/app-spec.ts';
import { directive, lonePath, pathWord, word } from './unit-text.ts';

/** Facts of the device that a unit needs. Folders absolute. */
export interface UnitOptions {
  /** Unit with which every guest ends; `<service>-core.service` if absent. */
  readonly core?: string;
  /** `<run>` of the device: `/run/device`. */
  readonly run: string;
  /** Configuration folder, hidden from guests; `/etc/<service>` if absent. */
  readonly etc?: string;
  /** Account of the guest; if absent the record of userdb that userOf() names. */
  readonly account?: string;
  /** A compiled AppArmor profile is there: a unit before the guest's loads it, and the guest does not start without it. */
  readonly confined?: boolean;
}

/** Folders that every guest finds empty, but for what is its own. */
const MASKED = ['/run', '/var', '/opt', '/srv', '/mnt', '/media', '/boot'];
const HOMES = ['/home', '/root', '/run/user'];

/** Name of the user that is made for a guest. Names beyond 31 bytes are none to systemd. */
export function userOf({ kind, uid }: Pick<AppSpec, 'kind' | 'uid'>): string {
  return `${kind}-${uid}`;
}

/** `app-agenda.service`, `plugin-weather.service`. */
export function unitNameOf({ name }: Pick<AppSpec, 'name'>): string {
  return `${name}.service`;
}

/** `app-agenda-egress.service`. */
export function egressUnitNameOf({ name }: Pick<AppSpec, 'name'>): string {
  return `${name}-egress.service`;
}

/** Socket from which systemd fetches the token of a launch. The folder is root's: systemd reads any file there as root. */
export function credentialsOf({ service }: Pick<AppSpec, 'service'>): string {
  return `/run/${service}-credentials.sock`;
}

/**
 * Text of a guest's unit. It holds all limits of systemd but CPUQuota, which would throttle the making of the sandbox:
 * it is set when the guest is ready. The specification must be sound (`appSpecProblem`), with a separate user.
 */
export function unitOf(spec: AppSpec, options: UnitOptions): string {
  const { service, kind, uid, limits, stopTimeoutMs } = spec;
  if (uid === undefined) throw new TypeError(`${spec.name} has no separate user, which a unit needs`);
  const { core = `${service}-core.service`, etc = `/etc/${service}`, account, confined = false } = options;
  const user = account ?? userOf(spec);
  const loader = confined ? [`${service}-profile@${spec.name}.service`] : [];
  const way = spec.network === 'hosts' ? [egressUnitNameOf(spec)] : [];
  return unitText({
    Unit: [
      directive('Description', kind === 'app' ? 'App' : 'Plugin', spec.id),
      directive('BindsTo', core),
      ...(kind === 'app' ? [directive('After', core, ...way, ...loader)] : besideCore(core, spec, loader)),
      ...way.map((unit) => directive('Wants', unit)),
      ...loader.map((unit) => directive('Requires', unit)),
      ...way.map((unit) => directive('JoinsNamespaceOf', unit)),
      'StartLimitIntervalSec=0',
    ],
    Service: [
      ...['Type=exec', `Slice=${service}-apps.slice`],
      ...[`User=${user}`, `Group=${user}`, 'UMask=0077', directive('WorkingDirectory', lonePath(spec.cwd))],
      // A colon: no variable is put in place of a dollar sign.
      directive('ExecStart', `:${word(spec.program)}`, ...spec.args.map(word)),
      ...['Restart=no', 'KillMode=control-group', `TimeoutStopSec=${stopTimeoutMs}ms`, 'OOMPolicy=kill'],
      ...(kind === 'app' ? [directive('LoadCredential', `token:${credentialsOf(spec)}`)] : []),
      ...environmentOf(spec),
      'UnsetEnvironment=INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID',
      `SyslogIdentifier=${spec.name}`,
      directive('LogExtraFields', `DEVICE_${kind.toUpperCase()}=${spec.id}`),
      ...['LogRateLimitIntervalSec=10', 'LogRateLimitBurst=1000'],
      ...[`MemoryMax=${Math.ceil(limits.memoryMaxMB)}M`, 'MemorySwapMax=0', 'CPUWeight=50', 'IOWeight=50'],
      ...[`TasksMax=${limits.tasksMax}`, `LimitNOFILE=${limits.openFiles}`],
      `LimitFSIZE=${Math.ceil(Math.max(limits.storageMB, limits.cacheMB))}M`,
      ...['LimitCORE=0', 'OOMScoreAdjust=500'],
      ...HARDENED,
      ...['PrivateIPC=yes', `ProtectHome=${inHomes(spec) ? 'tmpfs' : 'yes'}`, 'PrivateUsers=yes'],
      directive('AppArmorProfile', `${confined ? '' : '-'}${profileOf(spec)}`),
      directive('TemporaryFileSystem', ...masks(spec, etc)),
      ...folders(spec, options, account === undefined ? uid : undefined),
      ...networkOf(spec),
      ...devicesOf(spec),
    ],
  });
}

/**
 * The Core is ready when its plugins are: a unit that waited for it would never start. So it is started before, and
 * stopped behind, the Core, which ends its plugins in their order. What systemd starts unasked has no channel.
 */
function besideCore(core: string, { run }: AppSpec, loader: readonly string[]): readonly string[] {
  const after = loader.map((unit) => directive('After', unit));
  return [directive('Before', core), ...after, directive('ConditionPathExists', lonePath(`${run}/channel.sock`))];
}

/** Settings of every guest's unit, independent of grants. */
export const HARDENED: readonly string[] = [
  ...['NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'AmbientCapabilities=', 'SystemCallArchitectures=native'],
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources @keyring @mount @debug io_uring_setup io_uring_enter io_uring_register process_vm_readv process_vm_writev shmget msgget semget',
  'SystemCallErrorNumber=EPERM',
  ...['RestrictNamespaces=yes', 'RestrictRealtime=yes', 'RestrictSUIDSGID=yes', 'LockPersonality=yes'],
  ...['KeyringMode=private', 'RemoveIPC=yes', 'ProtectSystem=strict', 'ProtectProc=invisible', 'ProtectClock=yes'],
  ...['ProtectHostname=yes', 'ProtectKernelLogs=yes', 'ProtectKernelModules=yes', 'ProtectKernelTunables=yes'],
  ...['ProtectControlGroups=yes', 'PrivateDevices=yes', 'DevicePolicy=closed'],
];

/** Name of a guest's AppArmor profile. */
export function profileOf({ service, name }: Pick<AppSpec, 'service' | 'name'>): string {
  return `${service}-${name}`;
}

export function unitText(sections: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(sections)
    .map(([name, lines]) => [`[${name}]`, ...lines, ''].join('\n'))
    .join('\n');
}

function environmentOf({ env }: AppSpec): readonly string[] {
  // systemd says itself where its credentials are.
  const told = Object.entries(env).filter(([name]) => name !== 'CREDENTIALS_DIRECTORY');
  return told.map(([name, value]) => directive('Environment', word(`${name}=${value}`)));
}

/** Files in memory have half of its budget in each place: not all systems count them for it. */
function masks({ bare, limits }: AppSpec, etc: string): readonly string[] {
  const bytes = Math.floor((limits.memoryMaxMB * 2 ** 20) / 2);
  const memory = ['/tmp', '/dev/shm'].map(
    (path) => `${path}:mode=1777,size=${bytes},nr_inodes=${Math.floor(bytes / 1_024)}`,
  );
  const empty = [...MASKED.slice(2), pathWord(etc), ...(bare ? ['/usr'] : [])].map((path) => `${path}:ro`);
  return ['/run:ro,mode=0755', '/var:ro,mode=0755', ...empty, ...memory];
}

/** Its own folders, and what lies where nothing is seen. */
function folders(spec: AppSpec, options: UnitOptions, record: number | undefined): readonly string[] {
  const { bare, files, program, service } = spec;
  const { run, etc = `/etc/${service}` } = options;
  const isMasked = (path: string) => isHidden(path, { run, etc }) || (bare === true && isBelow(path, '/usr'));
  const users = record === undefined ? [] : [`${record}.user`, `${record}.group`, `${userOf(spec)}.user`];
  // A socket is connected to through a read-only folder, too.
  const demanded = [
    spec.code,
    spec.run,
    ...(spec.shared === undefined ? [] : [spec.shared]),
    ...users.map((name) => `/run/userdb/${name}`),
  ];
  // Paths missing outside are missing inside, too.
  const beside = [program, ...files.read].filter((path) => !isBelow(path, spec.code) && isMasked(path));
  const read = [...demanded.map(pathWord), ...[...new Set(beside)].map((path) => pathWord(`-${path}`))];
  const placed = Object.entries(files.placed ?? {}).map(([inside, from]) => `${pathWord(from)}:${pathWord(inside)}`);
  // Not StateDirectory=: systemd gives away any file there as root, and a Core that was taken over decides what does (docs/adr/0077).
  const bound = [...files.write.map(pathWord), ...placed];
  return [...(bound.length === 0 ? [] : [directive('BindPaths', ...bound)]), directive('BindReadOnlyPaths', ...read)];
}

/** A guest finds nothing at this path unless its specification names it. */
export function isHidden(path: string, { run, etc = run }: Pick<UnitOptions, 'run' | 'etc'>): boolean {
  return [...MASKED, ...HOMES, '/tmp', '/var/tmp', run, etc].some((folder) => isBelow(path, folder));
}

/** Paths below an inaccessible folder cannot be bound back; below an empty one they can. */
function inHomes({ program, code, files }: AppSpec): boolean {
  return [program, code, ...files.read, ...files.write].some((path) => HOMES.some((home) => isBelow(path, home)));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function networkOf({ network, listen }: AppSpec): readonly string[] {
  if (network === 'none') return ['PrivateNetwork=yes', 'RestrictAddressFamilies=AF_UNIX', 'IPAddressDeny=any'];
  if (network === 'hosts')
    return [
      ...['PrivateNetwork=yes', 'RestrictAddressFamilies=AF_UNIX AF_INET'],
      ...['IPAddressDeny=any', 'IPAddressAllow=localhost'],
    ];
  return [
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    ...(listen ? [] : ['SocketBindDeny=any']),
    'IPAddressDeny=localhost',
    'BindReadOnlyPaths=-/run/systemd/resolve',
  ];
}

function devicesOf({ devices, groups = [] }: AppSpec): readonly string[] {
  return [
    ...devices.map(({ path }) => directive('BindPaths', pathWord(`-${path}`))),
    ...devices.map(({ path, access }) => directive('DeviceAllow', pathWord(path), access)),
    ...(groups.length === 0 ? [] : [directive('SupplementaryGroups', ...groups)]),
  ];
}
