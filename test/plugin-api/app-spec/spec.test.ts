/** What one run of an app may see, and what the system's kernel is told of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AppSpec,
  apparmorOf,
  appSpecProblem,
  egressUnitOf,
  type GuestManifest,
  specOf,
  unitOf,
} from '@device-core/plugin-api/inside/app-spec';
import { bwrapCommandOf, FORWARDER, seccompOf } from '@device-core/plugin-api/inside/sandbox';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { goldenFiles, readGolden, specOfGolden } from './golden.ts';
import { MANIFESTS, PATHS, placeOf, SKU } from './manifests.ts';

it('units of each manifest are those of the golden files', () => {
  const made = goldenFiles();
  const kept = readGolden();
  assert.deepEqual(Object.keys(made).sort(), Object.keys(kept).sort());
  for (const [name, text] of Object.entries(made)) assert.equal(text, kept[name], name);
});

const OPENING = [
  'storage-scoped',
  'network.outbound',
  'network.listen',
  'network',
  'network.outbound:api.example.com',
  'network.outbound:b.example.com',
  'sensors.node:camera',
  'bridges.node:meter',
] as const;
const ALL: GuestManifest = {
  id: 'com.example.all',
  name: 'all',
  title: 'All',
  version: '1.0.0',
  exec: { command: 'node', args: ['main.js'] },
  capabilities: [...OPENING, 'display.notify'].map((id) => ({ id })),
};
const make = (grants: readonly string[]) => specOf(ALL, grants, SKU, placeOf(ALL));

/** Everything that a guest is shown by each function, as words that may only become more. */
function shown(spec: AppSpec): Readonly<Record<string, ReadonlySet<string>>> {
  const args = bwrapCommandOf('bwrap', spec);
  // What stands between a guest and its way out is no grant: with the open network there is none.
  const between: readonly string[] = Object.values(FORWARDER);
  const bwrap = args.flatMap((word, at) =>
    /^--(ro-|dev-)?bind/.test(word) && !between.includes(args[at + 2]!)
      ? [`${word.replace('ro-', '')} ${args[at + 2]}`]
      : [],
  );
  const unit = unitOf(spec, PATHS).split('\n');
  const words = (name: string) =>
    unit.flatMap((line) => (line.startsWith(`${name}=`) ? line.slice(name.length + 1).split(' ') : []));
  const opened = ['BindPaths', 'BindReadOnlyPaths', 'DeviceAllow', 'RestrictAddressFamilies', 'SupplementaryGroups'];
  const profile = apparmorOf(spec)
    .split('\n')
    .filter((line) => !line.includes('deny '));
  const hosts = spec.hosts.flatMap(({ host, ports }) => ports.map((port) => `${host}:${port}`));
  return {
    bwrap: new Set([...bwrap, ...(args.includes('--unshare-net') ? [] : ['net'])]),
    unit: new Set([
      ...opened.flatMap((name) => words(name).map((word) => `${name} ${word}`)),
      ...(words('PrivateNetwork').length === 0 ? ['net'] : []),
      ...(words('PrivateNetwork').length === 0 && words('SocketBindDeny').length === 0 ? ['bind'] : []),
    ]),
    apparmor: new Set(profile),
    // What is open needs no host by name.
    hosts: new Set(spec.network === 'open' ? OPENING.flatMap((one) => [`${one.split(':')[1]}:443`]) : hosts),
  };
}

describe('specOf', () => {
  it('a grant never shows less, and a revoked one is gone again', () => {
    fc.assert(
      fc.property(fc.subarray([...OPENING]), fc.constantFrom(...OPENING), (grants, more) => {
        const before = shown(make(grants.filter((one) => one !== more)));
        const after = shown(make([...grants, more]));
        for (const [what, set] of Object.entries(before))
          for (const one of set) assert.ok(after[what]?.has(one), `${what}: ${one} went with the grant of ${more}`);
        assert.deepEqual(shown(make(grants.filter((one) => one !== more))), before);
      }),
      { numRuns: runs(300) },
    );
  });

  for (const capability of OPENING)
    it(`${capability} opens something in each of the four, and its revocation closes it`, () => {
      const [without, granted] = [make([]), make([capability])];
      assert.notDeepEqual(granted, without);
      assert.notEqual(unitOf(granted, PATHS), unitOf(without, PATHS));
      assert.notEqual(apparmorOf(granted), apparmorOf(without));
      const calls = (spec: AppSpec) => Buffer.from(seccompOf(spec, 'x64')).toString('hex');
      // Named hosts are a way inside its own network, which the filter of calls opens.
      if (granted.network === 'hosts') assert.notEqual(calls(granted), calls(without));
      assert.notDeepEqual(bwrapCommandOf('bwrap', granted), bwrapCommandOf('bwrap', without));
    });

  it('a grant without a claim opens nothing', () => {
    const manifest = { ...ALL, capabilities: [] };
    assert.deepEqual(specOf(manifest, OPENING, SKU, placeOf(ALL)), specOf(manifest, [], SKU, placeOf(ALL)));
  });

  it('a node that the SKU has not is no node, with any name', () => {
    const names = ['constructor', '__proto__', 'lamp'].map((name) => `display.node:${name}`);
    const manifest = { ...ALL, capabilities: names.map((id) => ({ id })) };
    assert.deepEqual(specOf(manifest, names, SKU, placeOf(ALL)).devices, []);
  });

  it('one host that is claimed twice has the ports of both', () => {
    const id = 'network.outbound:a.example';
    const manifest = { ...ALL, capabilities: [{ id, ports: [8080, 443] }, { id }, { id, ports: [80] }] };
    assert.deepEqual(specOf(manifest, [id], SKU, placeOf(ALL)).hosts, [{ host: 'a.example', ports: [80, 443, 8080] }]);
  });

  it('the environment of a manifest never overrides that of the Core', () => {
    const env = { PATH: '/evil', CREDENTIALS_DIRECTORY: '/x', MINE: 'yes' };
    const spec = specOf({ ...ALL, exec: { command: 'node', env } }, [], SKU, placeOf(ALL));
    assert.deepEqual(
      [spec.env.PATH, spec.env.CREDENTIALS_DIRECTORY, spec.env.MINE],
      ['/usr/local/bin:/usr/bin:/bin', '/run/credentials/app-all.service', 'yes'],
    );
  });

  it('limits are what was asked for under the ceilings of the SKU, which cut the usual, too', () => {
    const limits = (resources: object, ceilings: object) =>
      specOf({ ...ALL, resources }, [], { ceilings }, placeOf(ALL)).limits;
    assert.equal(limits({ memoryMaxMB: 64 }, {}).memoryMaxMB, 64);
    assert.equal(limits({}, { memoryMaxMB: 32 }).memoryMaxMB, 32);
    assert.equal(limits({ tasksMax: 1_000 }, { tasksMax: 10 }).tasksMax, 10);
  });
});

describe('appSpecProblem', () => {
  const good = specOfGolden('node');
  it('takes every specification that specOf makes', () => {
    for (const name of Object.keys(MANIFESTS)) assert.equal(appSpecProblem(specOfGolden(name)), undefined, name);
  });

  const cases: readonly (readonly [what: string, spec: unknown, problem: RegExp])[] = [
    ['nothing', undefined, /no specification/],
    ['a text', 'spec', /its form is undefined/],
    ['another form', { ...good, form: 2 }, /its form is 2, not 1/],
    ['a name with a slash', { ...good, name: 'app-../x' }, /its name/],
    ['a name of 41 characters', { ...good, name: `app-${'a'.repeat(41)}` }, /its name/],
    ['a name that is none of its kind', { ...good, name: 'plugin-x' }, /its name/],
    ['the name of a way out', { ...good, name: 'app-x-egress' }, /ends in -egress/],
    ['a service with a dash', { ...good, service: 'a-b' }, /its service/],
    ['an id with a line', { ...good, id: 'com.x\nUser=root' }, /its id/],
    ['a user who is root', { ...good, uid: 0 }, /user 0 is none/],
    ['a path through ..', { ...good, code: '/var/../etc' }, /leads through/],
    ['a path with a line', { ...good, code: '/var/a\nUser=root' }, /control character/],
    ['a folder of somebody else', { ...good, files: { ...good.files, write: ['/var/lib/other'] } }, /not its own/],
    [
      'a node outside of /dev',
      { ...good, devices: [{ name: 'a', path: '/etc/shadow', access: 'rw' }] },
      /not below \/dev/,
    ],
    ['nodes that differ', { ...good, nodes: ['/dev/mem'] }, /are not those of its devices/],
    ['a group of no device', { ...good, groups: ['video', 'shadow'] }, /of none of its devices/],
    ['a group with a blank', { ...good, groups: ['a b'] }, /its group "a b"/],
    ['a variable with =', { ...good, env: { 'A=B': 'x' } }, /its variable/],
    [
      'an address for a host',
      { ...specOfGolden('named-host'), hosts: [{ host: '10.0.0.1', ports: [443] }] },
      /an address/,
    ],
    ['port 0', { ...specOfGolden('named-host'), hosts: [{ host: 'a.example', ports: [0] }] }, /0 is no port/],
    ['no memory', { ...good, limits: { ...good.limits, memoryMaxMB: 0 } }, /limit memoryMaxMB is 0/],
    ['no end of memory', { ...good, limits: { ...good.limits, memoryMaxMB: 1e12 } }, /limit memoryMaxMB/],
    ['a limit that is a text', { ...good, limits: { ...good.limits, tasksMax: '5\nUser=root' } }, /limit tasksMax/],
    [
      'hosts with the open network',
      { ...good, network: 'open', hosts: [{ host: 'a.b', ports: [1] }] },
      /hosts need network/,
    ],
    ['half a character', { ...good, args: ['\ud800'] }, /no Unicode/],
    ['a zero byte', { ...good, args: ['a\0b'] }, /zero byte/],
  ];
  for (const [what, spec, problem] of cases)
    it(`refuses ${what}`, () => assert.match(appSpecProblem(spec) ?? 'nothing', problem));

  it('never throws, for any input', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(good)), fc.jsonValue(), (member, value) => {
        const problem = appSpecProblem({ ...good, [member]: value });
        assert.ok(problem === undefined || problem.length > 0);
      }),
      { numRuns: runs(500) },
    );
  });
});

it('only a guest with named hosts has a way out of its own, and both units name each other', () => {
  assert.equal(egressUnitOf(specOfGolden('nothing'), PATHS), undefined);
  assert.equal(egressUnitOf(specOfGolden('open-network'), PATHS), undefined);
  assert.match(egressUnitOf(specOfGolden('named-host'), PATHS) ?? '', /^JoinsNamespaceOf=app-agenda.service$/m);
  assert.match(unitOf(specOfGolden('named-host'), PATHS), /^JoinsNamespaceOf=app-agenda-egress.service$/m);
});

it('a large budget of memory is halved for each place of files in memory', () => {
  const spec = specOfGolden('nothing');
  const unit = unitOf({ ...spec, limits: { ...spec.limits, memoryMaxMB: 8_192 } }, PATHS);
  assert.match(unit, / \/tmp:mode=1777,size=4294967296,nr_inodes=4194304 /);
});

it('a guest with a compiled profile does not start before that is loaded, and never without it', () => {
  const spec = specOfGolden('nothing');
  const [confined, plain] = [unitOf(spec, { ...PATHS, confined: true }), unitOf(spec, PATHS)];
  const loader = `device-profile@${spec.name}.service`;
  for (const line of [
    `Requires=${loader}`,
    `After=device-core.service ${loader}`,
    `AppArmorProfile=device-${spec.name}`,
  ])
    assert.ok(confined.split('\n').includes(line), line);
  assert.ok(!plain.includes(loader));
  assert.match(plain, new RegExp(`^AppArmorProfile=-device-${spec.name}$`, 'm'));
});

it('a guest without a user of its own has no unit', () => {
  const { uid: _, ...plain } = specOfGolden('nothing');
  assert.throws(() => unitOf(plain, PATHS), /no separate user/);
});
