/** The table of what an app finds when it reaches out, row by row, with a grant and without, in Node and Python, as root and as a plain user. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { CapabilityId } from '@device-core/plugin-api';
import { type AppSpec, specOf } from '@device-core/plugin-api/inside/app-spec';
import { WallLauncher } from '../../kernel/walls/launcher.ts';
import { type Situation, table, wrong } from '../fixtures/probe/table.ts';
import { ProbeWorld } from '../fixtures/probe/world.ts';
import { rangedUser, SPAN, WITHOUT_RANGE } from '../fixtures/ranged-user.ts';
import { WITHOUT_BWRAP } from '../fixtures/walls.ts';

const ROOT = process.getuid?.() === 0;
const UID = 40_123;
const NOBODY = 65_534;
const HOST: CapabilityId = 'network.outbound:api.example.com';

interface User {
  readonly root: boolean;
  readonly uid: number | undefined;
  readonly outside: number | undefined;
  readonly ranged?: true;
}

/** Who runs bubblewrap, and who the app is. */
const USERS = {
  'as root, with a user of its own': { root: true, uid: UID, outside: undefined },
  'as root, in a user namespace': { root: true, uid: undefined, outside: undefined },
  'as a plain user': { root: false, uid: undefined, outside: ROOT ? NOBODY : undefined },
  'as a plain user, with a user of its range': { root: true, uid: SPAN.first + UID, outside: undefined, ranged: true },
} as const satisfies Readonly<Record<string, User>>;
const GRANTS: readonly (readonly [what: string, grants: readonly CapabilityId[], network: Situation['network']])[] = [
  ['nothing granted', [], 'none'],
  ['named hosts, a node and storage', [HOST, 'sensors.node:lamp', 'storage-scoped'], 'hosts'],
  ['the open network, a node and storage', ['network.outbound', 'sensors.node:lamp', 'storage-scoped'], 'open'],
];
const LANGUAGES = { node: ['main.mjs'], python: ['-B', 'main.py'] } as const;

const launcher = new WallLauncher('bubblewrap');

async function reach(language: 'node' | 'python', user: User, at: number): Promise<void> {
  const [, grants, network] = GRANTS[at]!;
  await using device = await ProbeWorld.make(language, ROOT ? 'lamp' : undefined);
  const { world, place } = device;
  if (world.node !== undefined) {
    assert.equal(spawnSync('mknod', ['-m', '666', world.node, 'c', '1', '3']).status, 0);
    chmodSync(world.node, 0o666);
  }
  const rows = table(world, { by: 'bwrap', network, granted: grants.length > 0 });
  device.give(rows, user.uid ?? user.outside);
  const manifest = {
    id: 'com.example.probe',
    name: 'probe',
    title: 'Probe',
    version: '1.0.0',
    exec: { command: language, args: LANGUAGES[language] },
    capabilities: [HOST, 'network.outbound', 'sensors.node:lamp', 'storage-scoped'].map((id) => ({ id })),
  };
  const nodes = world.node === undefined ? {} : { lamp: { path: world.node, access: 'rw' as const } };
  const spec = specOf(manifest, grants, { nodes }, { ...place, ...(user.uid === undefined ? {} : { uid: user.uid }) });
  if (user.ranged) return assert.deepEqual(wrong(rows, JSON.parse(saidOfRange(spec))), []);
  const { command, args, env, cwd, feeds } = await launcher.prepare(spec);
  const plain =
    user.outside === undefined
      ? []
      : ['setpriv', '--reuid', `${user.outside}`, '--regid', `${user.outside}`, '--clear-groups'];
  const [first = command, ...rest] = [...plain, command, ...args];
  const child = spawn(first, rest, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...feeds.map(() => 'pipe' as const)],
  });
  for (const { descriptor, bytes } of feeds) (child.stdio[descriptor] as NodeJS.WritableStream).end(bytes);
  const [said, complaints] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  assert.ok(said.startsWith('{'), complaints);
  assert.deepEqual(wrong(rows, JSON.parse(said)), []);
}

/** Output of the guest, which a launcher of the plain user makes ready and runs. */
function saidOfRange(spec: AppSpec): string {
  using plain = rangedUser();
  const program = new URL('../fixtures/run-spec.ts', import.meta.url).pathname;
  const [command, ...args] = plain.words([process.execPath, program, JSON.stringify(spec)]);
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  assert.ok(stdout.startsWith('{'), stderr);
  return stdout;
}

/** A plain user must be able to reach what it is to run. */
const skipFor = (language: 'node' | 'python', { root, outside, ranged }: User) => {
  if (WITHOUT_BWRAP) return WITHOUT_BWRAP;
  if (ranged && WITHOUT_RANGE) return WITHOUT_RANGE;
  if (root && !ROOT) return 'the test is not root';
  if (language === 'python' && !existsSync('/usr/bin/python3')) return 'python3 is not installed';
  if (
    outside !== undefined &&
    spawnSync('setpriv', ['--reuid', `${outside}`, '--clear-groups', 'test', '-x', process.execPath]).status !== 0
  )
    return 'the runtime is closed to other users';
  return false;
};

/** A program that needs no library; every Debian has it. */
const STATIC = '/sbin/ldconfig';

async function runStatic(uid: number | undefined): Promise<string> {
  await using device = await ProbeWorld.make('python');
  const program = `${device.place.code}/bin/rock`;
  mkdirSync(dirname(program));
  copyFileSync(STATIC, program);
  const manifest = {
    id: 'com.example.probe',
    name: 'probe',
    title: 'Probe',
    version: '1.0.0',
    capabilities: [],
    runtime: { kind: 'static' as const },
    exec: { command: 'bin/rock', args: ['--version'] },
  };
  const place = { ...device.place, program, ...(uid === undefined ? {} : { uid }) };
  const spec = specOf(manifest, [], {}, place);
  const { command, args, env, cwd, feeds } = await launcher.prepare(spec);
  assert.ok(!args.includes('/usr'), args.join(' '));
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...feeds.map(() => 'pipe' as const)],
  });
  for (const { descriptor, bytes } of feeds) (child.stdio[descriptor] as NodeJS.WritableStream).end(bytes);
  const [said, complaints] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return `${said}${complaints}`;
}

describe('an app that reaches out', () => {
  it('the device nodes of the table are there outside', () => assert.ok(statSync('/dev/null').isCharacterDevice()));
  for (const [who, user] of Object.entries(USERS))
    for (const language of 'ranged' in user ? (['node'] as const) : (['node', 'python'] as const))
      for (const [at, [what]] of GRANTS.entries())
        it(`${who}, in ${language}, with ${what}`, { skip: skipFor(language, user) }, () => reach(language, user, at));

  for (const [who, uid] of [
    ['as the user of the Core', undefined],
    ['with a user of its own', UID],
  ] as const)
    it(
      `a static program runs where nothing of the system is seen, ${who}`,
      {
        skip:
          WITHOUT_BWRAP ||
          (uid !== undefined && !ROOT && 'the test is not root') ||
          (!existsSync(STATIC) && `${STATIC} is not there`),
      },
      async () => assert.match(await runStatic(uid), /^ldconfig \(/),
    );
});
