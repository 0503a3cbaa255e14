import type { AppSpec } from '../../contract/app-spec.ts';
import { HARDENED, type UnitOptions, unitNameOf, unitText, userOf } from './unit.ts';
import { directive, pathWord, word } from './unit-text.ts';

/** Address of the guest's side of its way out, in the guest's network. */
export const WAY_OUT = '127.0.0.1:3128';
const ACTIVATE = '/usr/bin/systemd-socket-activate';
const PROXY = '/lib/systemd/systemd-socket-proxyd';

/**
 * The unit of a guest's way to named hosts: what it connects to inside its own network arrives at `egress.sock` of its
 * run folder. Undefined for guests without named hosts. JoinsNamespaceOf stands in both units; with one of them the
 * listener was elsewhere.
 */
export function egressUnitOf(spec: AppSpec, options: UnitOptions): string | undefined {
  if (spec.network !== 'hosts') return undefined;
  const { service, uid } = spec;
  if (uid === undefined) throw new TypeError(`${spec.name} has no separate user, which a unit needs`);
  const { core = `${service}-core.service`, etc = `/etc/${service}`, account } = options;
  const user = account ?? userOf(spec);
  const guest = unitNameOf(spec);
  return unitText({
    Unit: [
      directive('Description', 'Way out of app', spec.id),
      ...[directive('BindsTo', core), directive('After', core), directive('JoinsNamespaceOf', guest)],
      ...['StopWhenUnneeded=yes', 'StartLimitIntervalSec=0'],
    ],
    Service: [
      ...['Type=exec', `Slice=${service}-apps.slice`, `User=${user}`, `Group=${user}`, 'UMask=0077'],
      directive('ExecStart', ...[`:${ACTIVATE}`, '-l', WAY_OUT, PROXY, word(`${spec.run}/egress.sock`)]),
      ...['Restart=no', 'KillMode=control-group', 'TimeoutStopSec=1s', `SyslogIdentifier=${spec.name}-egress`],
      ...['MemoryMax=16M', 'MemorySwapMax=0', 'TasksMax=8', 'LimitNOFILE=1024', 'LimitCORE=0', 'OOMScoreAdjust=500'],
      ...HARDENED,
      ...['PrivateIPC=yes', 'ProtectHome=yes', 'PrivateUsers=yes'],
      directive('TemporaryFileSystem', ...['/run', '/var', '/opt', '/srv', pathWord(etc)].map((path) => `${path}:ro`)),
      directive('BindReadOnlyPaths', pathWord(spec.run)),
      ...['PrivateNetwork=yes', 'RestrictAddressFamilies=AF_UNIX AF_INET'],
      ...['IPAddressDeny=any', 'IPAddressAllow=localhost'],
    ],
  });
}
