import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, it, test } from 'node:test';
import {
  ARCHITECTURES,
  type Architecture,
  bwrapOf,
  DENIED_CALLS,
  type SandboxSpec,
  seccompOf,
  specProblem,
} from '@device-core/plugin-api/inside/sandbox';
import fc from 'fast-check';
import { judge, type Verdict } from '../fixtures/bpf.ts';
import { runs } from '../fixtures/runs.ts';
import { WITHOUT_BWRAP } from '../fixtures/walls.ts';

const SPEC: SandboxSpec = {
  name: 'app-agenda',
  program: '/opt/node/bin/node',
  args: ['main.js', '--flag'],
  cwd: '/srv/agenda',
  env: { HOME: '/srv/agenda/data' },
  files: { read: ['/srv/agenda'], write: ['/srv/agenda/data'] },
  sockets: ['/run/device/apps/agenda'],
  network: 'none',
  nodes: [],
};
const AUDIT: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const EPERM: Verdict = { errno: 1 };
const ENOSYS: Verdict = { errno: 38 };
const EAFNOSUPPORT: Verdict = { errno: 97 };

/** Value of an option that takes `count` words, each time that it stands there. */
function values(args: readonly string[], option: string, count: number): string[] {
  const end = args.indexOf('--');
  return args
    .slice(0, end)
    .flatMap((word, at) => (word === option ? [args.slice(at + 1, at + 1 + count).join(' ')] : []));
}

describe('bwrapOf', () => {
  it('gives a guest namespaces of its own, no capability, and its program at the end', () => {
    assert.deepEqual(bwrapOf(SPEC, { seccomp: 3 }), [
      ...[
        '--unshare-user-try',
        '--unshare-pid',
        '--unshare-ipc',
        '--unshare-uts',
        '--unshare-cgroup-try',
        '--unshare-net',
      ],
      ...['--die-with-parent', '--new-session', '--hostname', 'app-agenda', '--cap-drop', 'ALL'],
      ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/sbin', '/sbin'],
      ...['--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64'],
      ...['ld.so.cache', 'localtime', 'alternatives', 'ssl/certs', 'ca-certificates', 'passwd', 'group'].flatMap(
        (name) => [...['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]],
      ),
      ...[
        '--proc',
        '/proc',
        '--dev',
        '/dev',
        ...['--perms', '1777', '--tmpfs', '/dev/shm', '--perms', '1777', '--tmpfs', '/tmp'],
      ],
      ...['--ro-bind-try', '/srv/agenda', '/srv/agenda', '--bind-try', '/srv/agenda/data', '/srv/agenda/data'],
      ...['--ro-bind-try', '/opt/node/bin/node', '/opt/node/bin/node'],
      ...['--ro-bind-try', '/run/device/apps/agenda', '/run/device/apps/agenda'],
      ...[
        '--remount-ro',
        '/dev',
        '--remount-ro',
        '/',
        '--chdir',
        '/srv/agenda',
        '--seccomp',
        '3',
        '--',
        '/opt/node/bin/node',
        'main.js',
        '--flag',
      ],
    ]);
  });

  it('gives its file systems in memory half of its budget each', () => {
    const args = bwrapOf({ ...SPEC, limits: { memoryMaxMB: 96 } });
    const half = String(48 * 1024 * 1024);
    const mounted = args.flatMap((word, at) => (word === '--tmpfs' ? [args.slice(at - 2, at + 2).join(' ')] : []));
    assert.deepEqual(mounted, [`--size ${half} --tmpfs /dev/shm`, `--size ${half} --tmpfs /tmp`]);
    assert.ok(!bwrapOf({ ...SPEC, limits: { memoryMaxMB: 96 } }, { sized: false }).includes('--size'));
  });

  it('limits its tasks where its user namespace has a separate count', () => {
    const counter = { prlimit: '/usr/bin/prlimit', most: 100 };
    const rows: readonly (readonly [more: Partial<SandboxSpec>, expected: string | undefined])[] = [
      [{ limits: { tasksMax: 8 } }, '--nproc=15'],
      [{ limits: { tasksMax: 1_000 } }, '--nproc=100'],
      [{ limits: { tasksMax: 8 }, uid: 40_001 }, undefined],
      [{ limits: { tasksMax: 8 }, bare: true }, undefined],
      [{}, undefined],
    ];
    for (const [more, expected] of rows) {
      const args = bwrapOf({ ...SPEC, ...more }, { counter });
      assert.equal(
        args.find((word) => word.startsWith('--nproc')),
        expected,
        JSON.stringify(more),
      );
    }
  });

  const cases: Readonly<
    Record<string, readonly [more: Partial<SandboxSpec>, option: string, count: number, expected: readonly string[]]>
  > = {
    'the network of the device only by a grant': [{ network: 'open' }, '--unshare-net', 0, []],
    'names of hosts come with the network': [
      { network: 'open', files: { read: [], write: [] }, sockets: [], program: '/usr/bin/python3' },
      '--ro-bind-try',
      1,
      [
        'ld.so.cache',
        'localtime',
        'alternatives',
        'ssl/certs',
        'ca-certificates',
        'passwd',
        'group',
        'resolv.conf',
        'hosts',
      ]
        .concat(['nsswitch.conf', 'gai.conf', 'services', 'protocols', 'host.conf'])
        .map((name) => `/etc/${name}`),
    ],
    'a device node by its name': [{ nodes: ['/dev/spidev0.0'] }, '--dev-bind-try', 1, ['/dev/spidev0.0']],
    'a user of its own needs three capabilities until it is that user': [
      { uid: 40_001 },
      '--cap-add',
      1,
      ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'],
    ],
    'and no namespace of users, which would know one user only': [{ uid: 40_001 }, '--unshare-user-try', 0, []],
    'a folder of its own in the place of another': [
      { files: { read: [], write: [], placed: { '/run/device': '/run/device/guests/a' } }, sockets: [] },
      '--bind',
      2,
      ['/run/device/guests/a /run/device'],
    ],
    'and /tmp with it': [{ files: { read: ['/'], write: [] } }, '--tmpfs', 1, ['/dev/shm']],
    'the whole root where that is claimed': [{ files: { read: ['/'], write: [] } }, '--ro-bind', 2, ['/ /']],
    links: [
      { files: { read: [], write: [], links: { '/run/core.sock': 'shared/core.sock' } } },
      '--symlink',
      2,
      ['usr/bin /bin', 'usr/sbin /sbin', 'usr/lib /lib', 'usr/lib64 /lib64', 'shared/core.sock /run/core.sock'],
    ],
  };
  for (const [name, [more, option, count, expected]] of Object.entries(cases))
    it(name, () => {
      assert.deepEqual(values(bwrapOf({ ...SPEC, ...more }), option, count), expected);
    });

  it('runs setpriv before the program of another user', () => {
    const args = bwrapOf({ ...SPEC, uid: 40_001 }, { setpriv: '/bin/setpriv' });
    assert.deepEqual(args.slice(args.indexOf('--') + 1), [
      ...['/bin/setpriv', '--reuid', '40001', '--regid', '40001', '--clear-groups', '--no-new-privs'],
      ...['--inh-caps=-all', '--bounding-set=-all', '--', '/opt/node/bin/node', 'main.js', '--flag'],
    ]);
  });

  const path = fc
    .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 })
    .map((parts) => `/${parts.join('/')}`);
  it('lays a deeper path over the one that holds it, and of two rights to one path the wider one', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 6 }), fc.array(path, { maxLength: 6 }), (read, write) => {
        const args = bwrapOf({ ...SPEC, files: { read, write }, sockets: [] });
        const mounts = args.flatMap((word, at) =>
          /^--(ro-)?bind-try$/.test(word) && args[at + 1]!.startsWith('/etc/') === false
            ? [[word, args[at + 1]!] as const]
            : [],
        );
        for (const [at, [option, place]] of mounts.entries()) {
          assert.equal(option, write.includes(place) ? '--bind-try' : '--ro-bind-try');
          assert.equal(
            mounts.findIndex(([, other]) => other === place),
            at,
          );
          assert.ok(!mounts.slice(at + 1).some(([, later]) => place.startsWith(`${later}/`)));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  it('a grant never shows less', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 5 }), path, (read, more) => {
        const shown = (files: readonly string[]) => new Set(bwrapOf({ ...SPEC, files: { read: files, write: [] } }));
        const wider = shown([...read, more]);
        assert.ok([...shown(read)].every((word) => wider.has(word)));
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('specProblem', () => {
  const cases: readonly (readonly [more: Partial<SandboxSpec>, problem: RegExp | undefined])[] = [
    [{}, undefined],
    [{ name: 'a b' }, /its name "a b"/],
    [{ name: '-x' }, /its name/],
    [{ program: 'node' }, /its path "node" is not absolute/],
    [{ cwd: '/a/../b' }, /leads through/],
    [{ files: { read: ['/a/./b'], write: [] } }, /leads through/],
    [{ files: { read: [], write: ['/a//b'] } }, /leads through/],
    [{ files: { read: [], write: [], placed: { '/x': 'y' } } }, /"y" is not absolute/],
    [{ sockets: ['run'] }, /"run" is not absolute/],
    [{ args: ['a\0b'] }, /zero byte/],
    [{ uid: 0 }, /user 0 is none/],
    [{ files: { read: ['/'], write: [] } }, undefined],
  ];
  for (const [more, problem] of cases)
    it(`${JSON.stringify(more)} ${problem ? 'is refused' : 'is taken'}`, () => {
      if (problem) assert.match(specProblem({ ...SPEC, ...more }) ?? '', problem);
      else assert.equal(specProblem({ ...SPEC, ...more }), undefined);
    });
});

describe('seccompOf', () => {
  const programs = ARCHITECTURES.flatMap((arch) =>
    (['none', 'open'] as const).map((network) => ({ arch, network, bytes: seccompOf({ network }, arch) })),
  );
  for (const { arch, network, bytes } of programs) {
    const verdict = (nr: number, ...args: readonly bigint[]) => judge(bytes, { arch: AUDIT[arch], nr, args });
    const index = ARCHITECTURES.indexOf(arch);
    it(`refuses every call of the list on ${arch}, network ${network}`, () => {
      for (const [name, numbers] of Object.entries(
        Object.assign({}, ...Object.values(DENIED_CALLS)) as Record<string, readonly (number | undefined)[]>,
      )) {
        const nr = numbers[index];
        if (nr !== undefined) assert.deepEqual(verdict(nr), EPERM, name);
      }
    });
    const [read, openat, execve, kill] = arch === 'x64' ? [0, 257, 59, 62] : [63, 56, 221, 129];
    const [clone, clone3, socket, ioctl, personality, setscheduler, mknodat] =
      arch === 'x64' ? [56, 435, 41, 16, 135, 144, 259] : [220, 435, 198, 29, 92, 119, 33];
    const inet = network === 'open' ? 'allow' : EAFNOSUPPORT;
    const table: readonly (readonly [string, Verdict, number, ...bigint[]])[] = [
      ['read', 'allow', read],
      ['openat', 'allow', openat],
      ['execve', 'allow', execve],
      ['kill', 'allow', kill],
      ['a thread', 'allow', clone, 0x3d0f00n],
      ['a namespace of users', EPERM, clone, 0x1000_0011n],
      ['a namespace of networks', EPERM, clone, 0x4000_0011n],
      ['a namespace of mounts', EPERM, clone, 0x0002_0011n],
      ['clone3, whose flags cannot be seen', ENOSYS, clone3],
      ['a Unix socket', 'allow', socket, 1n],
      ['an IPv4 socket', inet, socket, 2n],
      ['an IPv6 socket', inet, socket, 10n],
      ['a netlink socket', inet, socket, 16n],
      ['a packet socket', EAFNOSUPPORT, socket, 17n],
      ['a vsock', EAFNOSUPPORT, socket, 40n],
      ['a Bluetooth socket', EAFNOSUPPORT, socket, 31n],
      ['TIOCSTI', EPERM, ioctl, 0n, 0x5412n],
      ['TIOCSTI with rubbish above', EPERM, ioctl, 0n, 0xff_0000_5412n],
      ['TIOCLINUX', EPERM, ioctl, 0n, 0x541cn],
      ['TCGETS', 'allow', ioctl, 0n, 0x5401n],
      ['asking for the personality', 'allow', personality, 0xffff_ffffn],
      ['changing the personality', EPERM, personality, 0x0040_0000n],
      ['the usual scheduler', 'allow', setscheduler, 0n, 0n],
      ['SCHED_FIFO', EPERM, setscheduler, 0n, 1n],
      ['SCHED_RR that children do not inherit', EPERM, setscheduler, 0n, 0x4000_0002n],
      ['SCHED_DEADLINE', EPERM, setscheduler, 0n, 6n],
      ['a named pipe', 'allow', mknodat, 0n, 0n, 0o010644n],
      ['a character device', EPERM, mknodat, 0n, 0n, 0o020644n],
      ['a block device', EPERM, mknodat, 0n, 0n, 0o060644n],
      ['a call newer than the list', ENOSYS, 463],
      ['a call of the x32 kind', ENOSYS, 0x4000_0000 + 1],
    ];
    for (const [name, expected, nr, ...args] of table)
      it(`${name} on ${arch}, network ${network}: ${JSON.stringify(expected)}`, () => {
        assert.deepEqual(verdict(nr, ...args), expected);
      });
    it(`ends a process of another architecture than ${arch}, network ${network}`, () => {
      assert.equal(judge(bytes, { arch: 0x4000_0003, nr: read }), 'kill');
      assert.equal(judge(bytes, { arch: AUDIT[arch === 'x64' ? 'arm64' : 'x64'], nr: read }), 'kill');
    });
    it(`answers every call on ${arch}, network ${network}`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 600 }),
          fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 }),
          (nr, args) => {
            assert.ok(verdict(nr, ...args));
          },
        ),
        { numRuns: runs(500) },
      );
      assert.ok(bytes.length / 8 <= 4_096, 'what the kernel takes');
    });
  }
});

test('bubblewrap and the kernel take the filter, and it holds', { skip: WITHOUT_BWRAP }, async () => {
  const script = `
    const tries = { unix: () => require('node:net').createServer().listen('/tmp/x').on('listening', function () { console.log('unix ok'); this.close(); }) };
    tries.unix();
    require('node:net').connect(1, '127.0.0.1').on('error', ({ code }) => console.log('inet', code));
    console.log(require('node:child_process').spawnSync('unshare', ['-U', 'true']).status);
  `;
  const spec = {
    ...SPEC,
    name: 'probe',
    program: process.execPath,
    args: ['-e', script],
    cwd: '/',
    files: { read: [], write: [] },
  };
  const arch = process.arch as Architecture;
  const child = spawn('bwrap', bwrapOf(spec, { seccomp: 3 }), {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin' },
  });
  (child.stdio[3] as NodeJS.WritableStream).end(seccompOf(spec, arch));
  const [said, complaints] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  assert.equal(complaints, '');
  assert.deepEqual(said.trim().split('\n').sort(), ['1', 'inet EAFNOSUPPORT', 'unix ok']);
});
