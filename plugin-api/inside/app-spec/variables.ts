/**
 * Variables that steer the loader, the C library or a runtime before the program's first line, by systems and runtimes.
 * bubblewrap and setpriv read the first kind, too, so that none of it may come from a manifest. Exact names, and
 * beginnings with a star.
 */
const LOADER = ['LD_*', 'GLIBC_TUNABLES', 'GCONV_PATH', 'GETCONF_DIR', 'HOSTALIASES', 'LOCALDOMAIN', 'LOCPATH'];
const LIBRARY = ['MALLOC_*', 'NIS_PATH', 'NLSPATH', 'RESOLV_HOST_CONF', 'RES_OPTIONS', 'TMPDIR', 'TZDIR'];
const RUNTIME = [
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_USE_ENV_PROXY',
  'PYTHONPATH',
  'PYTHONHOME',
  'PYTHONSTARTUP',
  'BASH_ENV',
  'ENV',
];
/** Variables that the Core or systemd sets. */
const OURS = [
  'PATH',
  'LANG',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'PWD',
  'DEVICE_*',
  'CREDENTIALS_DIRECTORY',
  'NOTIFY_SOCKET',
];
const MANAGER = ['LISTEN_*', 'SYSTEMD_*', 'INVOCATION_ID', 'JOURNAL_STREAM', 'WATCHDOG_*', 'MAINPID', 'MANAGERPID'];
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'FTP_PROXY', 'NO_PROXY'];

const steers = matcher([...LOADER, ...LIBRARY]);
const reserved = matcher([...LOADER, ...LIBRARY, ...RUNTIME, ...OURS, ...MANAGER]);
const proxy = matcher(PROXIES);

/** The C library or its loader looks at it in every program, also in those that make the walls. */
export function steersLoader(name: string): boolean {
  return steers.test(name);
}

/** No manifest may set it. Proxies have two spellings. */
export function isReserved(name: string): boolean {
  return reserved.test(name) || proxy.test(name.toUpperCase());
}

function matcher(names: readonly string[]): RegExp {
  return new RegExp(`^(${names.map((name) => name.replace('*', '.*')).join('|')})$`);
}
