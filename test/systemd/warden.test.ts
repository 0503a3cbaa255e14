/** The warden, asked by a Core that somebody else has taken over: nothing of it becomes root, and each refusal is named. Without a systemd. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  globSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { readConfig } from '../../systemd/helpers/warden/config.ts';
import { Profiles } from '../../systemd/helpers/warden/profiles.ts';
import { runs } from '../fixtures/runs.ts';
import { WardenDevice as Device } from '../fixtures/warden-device.ts';

after(leakCheck());

const ROOT = resolve(import.meta.dirname, '../..');
const WITHOUT_ROOT = process.getuid?.() === 0 ? false : 'files are given away by root alone';

describe('the program of the warden', () => {
  test('loads its own files and three doors of plugin-api, and no package', () => {
    const told = `import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) => { const found = next(name, context); console.log(found.url); return found; } });
      await import(${JSON.stringify(pathToFileURL(join(ROOT, 'systemd/helpers/warden/main.ts')))}).catch(() => undefined);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', told], { encoding: 'utf8' });
    const loaded = stdout.split('\n').filter((url) => url.startsWith('file:'));
    assert.ok(loaded.some((url) => url.endsWith('/dbus/connection.ts')));
    const own = new RegExp(
      `^${pathToFileURL(ROOT)}/(systemd/helpers/warden|plugin-api/inside/(sandbox|app-spec|dbus))/[^/]+$|/plugin-api/contract/run-spec.ts$`,
    );
    assert.deepEqual(
      loaded.filter((url) => !own.test(url)),
      [],
    );
  });

  test('has 450 lines at most', () => {
    const lines = globSync('systemd/helpers/warden/*.ts', { cwd: ROOT }).map(
      (file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1,
    );
    assert.ok(lines.reduce((sum, count) => sum + count, 0) <= 450);
  });
});

describe('the profile of a guest', () => {
  /** In place of the kernel and the parser, which not every machine has. */
  class Told {
    readonly calls: string[] = [];
    put({ name }: AppSpec): 'changed' | 'same' {
      const known = this.calls.includes(`put ${name}`);
      this.calls.push(`put ${name}`);
      return known ? 'same' : 'changed';
    }
    drop({ name }: Pick<AppSpec, 'name'>): void {
      this.calls.push(`drop ${name}`);
    }
  }

  test('is made with the unit, which demands it, and goes with the guest', async () => {
    const profiles = new Told();
    await using device = new Device(undefined, profiles);
    const spec = device.spec();
    assert.deepEqual(await device.ask({ verb: 'put', spec }), { ok: true });
    const unit = readFileSync(join(device.root, 'units', `${spec.name}.service`), 'utf8');
    assert.match(unit, new RegExp(`^Requires=device-profile@${spec.name}\\.service$`, 'm'));
    assert.match(unit, new RegExp(`^AppArmorProfile=device-${spec.name}$`, 'm'));
    assert.deepEqual(await device.ask({ verb: 'put', spec }), { ok: false });
    assert.deepEqual(await device.ask({ verb: 'drop', name: spec.name }), { ok: true });
    assert.deepEqual(
      profiles.calls,
      ['put', 'put', 'drop'].map((verb) => `${verb} ${spec.name}`),
    );
  });

  test('that cannot be compiled leaves no unit behind', async () => {
    const fails = {
      put: () => {
        throw new Error('cannot compile the AppArmor profile of app-demo: a bad line');
      },
      drop: () => undefined,
    };
    await using device = new Device(undefined, fails);
    const { failed } = await device.ask({ verb: 'put', spec: device.spec() });
    assert.match(String(failed), /^cannot compile the AppArmor profile/);
    assert.deepEqual(device.units, []);
  });

  test('is none where the kernel has no AppArmor', {
    skip: existsSync('/sys/kernel/security/apparmor/features') && 'this kernel has it',
  }, async () => {
    await using device = new Device();
    assert.equal(new Profiles(join(device.root, 'profiles')).put(device.spec()), undefined);
    assert.ok(!existsSync(join(device.root, 'profiles')));
  });
});

const camera = (more: object) => {
  const device = { name: 'camera', path: '/dev/video0', access: 'r', group: 'video', ...more };
  return { devices: [device], nodes: [device.path] };
};

describe('a specification is refused', () => {
  type Change = (spec: AppSpec, device: Device) => unknown;
  const CASES: readonly [why: string, reason: RegExp, change: Change][] = [
    ['of user root', /user/, (spec) => ({ ...spec, uid: 0 })],
    ['of a user of the system', /user is not 40000 to 40099: 33/, (spec) => ({ ...spec, uid: 33 })],
    ['of a user of plugins', /user is not/, (spec) => ({ ...spec, uid: 50_000 })],
    ['without a user', /user is not/, ({ uid: _, ...spec }) => spec],
    ['of a user that is a text', /user/, (spec) => ({ ...spec, uid: '40001' })],
    ['of another service', /service/, (spec) => ({ ...spec, service: 'other' })],
    [
      'with code outside of the store',
      /code is not below a store: \/usr/,
      (spec) => ({ ...spec, code: '/usr', cwd: '/usr' }),
    ],
    [
      'with the store itself as code',
      /code is not below a store/,
      (spec, { root }) => ({ ...spec, code: join(root, 'store') }),
    ],
    ['with code by ..', /\.\./, (spec, { root }) => ({ ...spec, code: `${join(root, 'store')}/../x` })],
    ['with a program that is none of the device', /program/, (spec) => ({ ...spec, program: '/bin/sh' })],
    ['that begins elsewhere', /working folder/, (spec) => ({ ...spec, cwd: '/etc' })],
    [
      'with the run folder of another',
      /run folder/,
      (spec, { root }) => ({ ...spec, run: join(root, 'run/apps/other'), sockets: [] }),
    ],
    [
      'with the data of another',
      /folder is not its own/,
      (spec, { root }) => ({
        ...spec,
        data: join(root, 'state/apps/com.example.other/data'),
        files: { read: [], write: [join(root, 'state/apps/com.example.other/data')] },
      }),
    ],
    ['that writes /etc', /its own/, (spec) => ({ ...spec, files: { read: [], write: ['/etc'] } })],
    [
      'that is shown a folder of the device in place of another',
      /folder is not its own: \/etc/,
      (spec) => ({ ...spec, files: { ...spec.files, placed: { '/tmp/x': '/etc' } } }),
    ],
    ['that reads everything', /file is not its own: \//, (spec) => ({ ...spec, files: { read: ['/'], write: [] } })],
    ['with the socket of systemd', /socket is not its own/, (spec) => ({ ...spec, sockets: ['/run/systemd'] })],
    ['with another shared folder', /shared folder/, (spec) => ({ ...spec, shared: '/run/dbus' })],
    [
      'with a node that is not in the list',
      /node disk \(\/dev\/sda\) is not in its list/,
      (spec) => ({ ...spec, ...camera({ name: 'disk', path: '/dev/sda', group: undefined }) }),
    ],
    [
      'with another node by a name of the list',
      /node camera \(\/dev\/mem\)/,
      (spec) => ({ ...spec, ...camera({ path: '/dev/mem' }) }),
    ],
    ['with more access to a node', /is not in its list/, (spec) => ({ ...spec, ...camera({ access: 'rw' }) })],
    [
      'with another group of a node',
      /is not in its list/,
      (spec) => ({ ...spec, ...camera({ group: 'disk' }), groups: ['disk'] }),
    ],
    [
      'with a node named constructor',
      /is not in its list/,
      (spec) => ({ ...spec, ...camera({ name: 'constructor' }) }),
    ],
    ['in a group of no node', /group/, (spec) => ({ ...spec, groups: ['sudo'] })],
    [
      'above a ceiling',
      /memoryMaxMB of 512 is above the ceiling of 256/,
      (spec) => ({ ...spec, limits: { ...spec.limits, memoryMaxMB: 512 } }),
    ],
    ['with a name with slashes', /name/, (spec) => ({ ...spec, name: 'app-../../../etc/x' })],
    ['with the name of another unit', /name/, (spec) => ({ ...spec, name: 'ssh' })],
    ['with a name of two lines', /name/, (spec) => ({ ...spec, name: 'app-a\nUser=root' })],
    ['with a kind of its own', /kind/, (spec) => ({ ...spec, kind: 'constructor' })],
    ['of another form', /form/, (spec) => ({ ...spec, form: 2 })],
    ['that is null', /specification/, () => null],
    ['that is a text for a unit', /form/, () => '[Service]\nUser=root'],
  ];
  for (const [why, reason, change] of CASES)
    test(why, async () => {
      await using device = new Device();
      const answer = await device.ask({ verb: 'put', spec: change(device.spec(), device) });
      assert.match(String(answer.refused), reason, JSON.stringify(answer));
      assert.deepEqual(device.units, []);
    });

  const PLACES: readonly [what: string, path: (spec: AppSpec) => string][] = [
    ['its code', ({ code }) => code],
    ['its run folder', ({ run }) => run],
    ['a folder above its code', ({ code }) => join(code, '..')],
  ];
  for (const [what, path] of PLACES)
    test(`where ${what} is a symbolic link`, async () => {
      await using device = new Device();
      const spec = device.spec();
      renameSync(path(spec), `${device.root}/moved`);
      symlinkSync(`${device.root}/moved`, path(spec));
      assert.match(String((await device.ask({ verb: 'put', spec })).refused), /leads through a link/);
      assert.deepEqual(device.units, []);
    });

  test('of a user or an id that another guest has, and beyond the limit of guests; 10,000 of them make no more', async () => {
    await using device = new Device();
    assert.deepEqual(await device.ask({ verb: 'put', spec: device.spec() }), { ok: true });
    assert.match(
      String((await device.ask({ verb: 'put', spec: device.spec('other') })).refused),
      /is that of app-agenda/,
    );
    const count = runs(10_000);
    for (let at = 0; at < count; at++) {
      const spec = { ...device.spec(`n${at % 50}`, 40_002 + (at % 50)) };
      const answer = await device.ask({ verb: 'put', spec });
      if (at >= 50) assert.ok(answer.ok !== undefined || /10 guests are the limit/.test(String(answer.refused)));
    }
    assert.equal(device.units.length, 10);
  });
});

test('a plugin is a guest, too: with a user of plugins, without folders that it writes, and without a token of systemd', async () => {
  await using device = new Device();
  const at = (path: string) => join(device.root, path);
  const [code, run] = [at('store/weather'), at('run/plugins/weather')];
  for (const folder of [code, run]) mkdirSync(folder, { recursive: true });
  const { cache: _, data: __, ...app } = device.spec();
  const plugin: AppSpec = {
    ...app,

    kind: 'plugin',
    id: 'weather',
    name: 'plugin-weather',
    uid: 50_001,
    code,
    cwd: code,
    run,
    sockets: [run],
    files: { read: [code, '/etc/device/weather/key'], write: [] },
    // The ceilings are those of apps: the SKU and the manifest say what a plugin takes.
    limits: { ...app.limits, memoryMaxMB: 512 },
  };
  assert.deepEqual(await device.ask({ verb: 'put', spec: plugin }), { ok: true });
  const unit = readFileSync(at('units/plugin-weather.service'), 'utf8');
  assert.match(unit, /^User=plugin-50001$/m);
  assert.doesNotMatch(unit, /LoadCredential|^After=/m);
  // The Core is ready behind its plugins, and a unit that nothing waits for has no channel.
  assert.match(unit, /^Before=device-core\.service\nConditionPathExists=.*\/run\/plugins\/weather\/channel\.sock$/m);
  assert.match(unit, /^BindReadOnlyPaths=.* -\/etc\/device\/weather\/key( |$)/m);
  assert.match(String((await device.ask({ verb: 'put', spec: { ...plugin, uid: 40_050 } })).refused), /user is not/);
  for (const folder of ['state/apps/com.example.agenda/data', 'state/plugins/weather', 'store/weather']) {
    const other = { ...plugin, files: { read: [], write: [at(folder)] } };
    assert.match(String((await device.ask({ verb: 'put', spec: other })).refused), /folder is not its own/);
  }
  const foreign = { ...plugin, files: { read: ['/etc/device/kettle'], write: [] } };
  assert.match(String((await device.ask({ verb: 'put', spec: foreign })).refused), /file is not its own/);
});

describe('a request', () => {
  const REQUESTS: readonly [why: string, reason: RegExp, request: unknown][] = [
    ['that is no JSON', /JSON/, '{'],
    ['that is nothing', /JSON/, ''],
    ['of null', /no verb/, null],
    ['with an unknown verb', /no verb "run"/, { verb: 'run', command: 'id' }],
    ['with a verb of every object', /no verb "constructor"/, { verb: 'constructor' }],
    ['to start what it did not make', /no guest "ssh"/, { verb: 'start', name: 'ssh' }],
    ['to stop what it did not make', /no guest "app-shop"/, { verb: 'stop', name: 'app-shop' }],
    ['to kill by a path', /no guest "..\/..\/etc\/passwd"/, { verb: 'kill', name: '../../etc/passwd' }],
    ['to own by an object', /no guest/, { verb: 'own', name: { toString: 'app-agenda' } }],
    ['for no limit at all', /cpuPercent/, { verb: 'limit', name: 'app-agenda', cpuPercent: null }],
    [
      'for more than the ceiling',
      /cpuPercent 5000 is not 1 to 100/,
      { verb: 'limit', name: 'app-agenda', cpuPercent: 5_000 },
    ],
  ];
  for (const [why, reason, request] of REQUESTS)
    test(`${why} is refused`, async () => {
      await using device = new Device();
      assert.match(String((await device.ask(request)).refused), reason);
      assert.deepEqual(device.changes, []);
    });

  test('for a unit of another writer is refused', async () => {
    await using device = new Device();
    writeFileSync(join(device.root, 'units/app-shop.service'), '[Service]\nExecStart=/bin/true\n');
    assert.match(String((await device.ask({ verb: 'start', name: 'app-shop' })).refused), /no guest/);
    assert.deepEqual(await device.ask({ verb: 'list' }), { ok: [] });
  });

  test('of anything at all is answered, and asks nothing of systemd', async () => {
    await using device = new Device();
    mkdirSync(join(device.config.state, 'remains'));
    const verb = fc.constantFrom('put', 'drop', 'own', 'start', 'limit', 'stop', 'kill', 'list', 'reclaim', 'release');
    await fc.assert(
      fc.asyncProperty(
        fc.record({ verb, name: fc.anything(), id: fc.anything(), spec: fc.anything(), cpuPercent: fc.anything() }),
        async (request) => {
          const answer = await device.ask(
            JSON.stringify(request, (_, value) => (typeof value === 'bigint' ? 1 : value)),
          );
          assert.ok(
            'ok' in answer || typeof answer.refused === 'string' || /ENOENT/.test(String(answer.failed)),
            JSON.stringify(answer),
          );
        },
      ),
      { numRuns: runs(1_000) },
    );
    assert.deepEqual(device.units, []);
    assert.deepEqual(device.changes, []);
  });
});

describe('files change hands', { skip: WITHOUT_ROOT }, () => {
  /** The guest is made; `state` is its folder, and a stranger's file lies beside it. */
  async function made(device: Device): Promise<AppSpec & { readonly secret: string }> {
    const spec = device.spec();
    assert.deepEqual(await device.ask({ verb: 'put', spec }), { ok: true });
    const secret = join(device.root, 'secret');
    writeFileSync(secret, 'x');
    chownSync(secret, 12, 12);
    return { ...spec, secret };
  }

  test('once, with all that is in them, and back again is not asked', async () => {
    await using device = new Device();
    const { data = '' } = await made(device);
    mkdirSync(join(data, 'deep/er'), { recursive: true });
    writeFileSync(join(data, 'deep/er/file'), 'x');
    symlinkSync('/etc/passwd', join(data, 'link'));
    const before = statSync('/etc/passwd').uid;
    assert.deepEqual(await device.ask({ verb: 'start', name: 'app-agenda' }), { ok: true });
    for (const path of ['', 'deep', 'deep/er', 'deep/er/file'])
      assert.equal(statSync(join(data, path)).uid, 40_001, path);
    assert.equal(statSync('/etc/passwd').uid, before);
    assert.deepEqual(device.changes, ['SetUnitProperties', 'StartUnit']);
  });

  const TRICKS: readonly [why: string, reason: RegExp, trick: (spec: AppSpec & { readonly secret: string }) => void][] =
    [
      [
        'a link in place of the folder',
        /leads through a link, data/,
        ({ data = '', secret }) => {
          rmSync(data, { recursive: true });
          symlinkSync(join(secret, '..'), data);
        },
      ],
      [
        'a link in place of a folder above it',
        /leads through a link/,
        ({ data = '', secret }) => {
          rmSync(join(data, '..'), { recursive: true });
          symlinkSync(join(secret, '..'), join(data, '..'));
        },
      ],
      [
        'a file in place of the folder',
        /is no folder/,
        ({ data = '' }) => {
          rmSync(data, { recursive: true });
          writeFileSync(data, '');
        },
      ],
    ];
  for (const [why, reason, trick] of TRICKS)
    test(`not with ${why}`, async () => {
      await using device = new Device();
      const spec = await made(device);
      trick(spec);
      const answer = await device.ask({ verb: 'start', name: 'app-agenda' });
      assert.match(String(answer.refused), reason);
      assert.deepEqual(device.changes, []);
      assert.equal(statSync(spec.secret).uid, 12);
    });

  const OTHERS: readonly [what: string, put: (secret: string, mine: string) => void][] = [
    ['a second name of a file of others', linkSync],
    ['a file of others', renameSync],
    ["a second name of the Core's own", (secret, mine) => chownSync(secret, 0, 0) ?? linkSync(secret, mine)],
  ];
  for (const [what, put] of OTHERS)
    test(`and ${what} stays whose it is, while the rest is given`, async () => {
      await using device = new Device();
      const { data = '', secret } = await made(device);
      writeFileSync(join(data, 'file'), 'x');
      put(secret, join(data, 'mine'));
      const { uid } = statSync(join(data, 'mine'));
      assert.deepEqual(await device.ask({ verb: 'start', name: 'app-agenda' }), { ok: true });
      assert.deepEqual([statSync(join(data, 'mine')).uid, statSync(join(data, 'file')).uid], [uid, 40_001]);
    });
});

describe('its configuration', () => {
  const config = (device: Device, text = JSON.stringify(device.config), mode = 0o644): string => {
    const path = join(device.root, 'warden.json');
    writeFileSync(path, text, { mode });
    return path;
  };
  const own = process.getuid?.() ?? 0;

  test("is read where it is the owner's alone", async () => {
    await using device = new Device();
    assert.deepEqual(readConfig(config(device), own), device.config);
  });

  test('is refused where others could have written it, or where it is none', async () => {
    await using device = new Device();
    assert.throws(() => readConfig(config(device), own + 1), /could have been written/);
    assert.throws(
      () =>
        readConfig(config(device, JSON.stringify({ ...device.config, uids: { app: [0, 10], plugin: [1, 2] } })), own),
      /no configuration/,
    );
    symlinkSync(config(device), join(device.root, 'link.json'));
    assert.throws(() => readConfig(join(device.root, 'link.json'), own), { code: 'ELOOP' });
  });
});
