/** The table of what an app finds when it reaches out, from units of systemd that the warden made. The same rows and the same program as under bubblewrap. */
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { specOf } from '@device-core/plugin-api/inside/app-spec';
import { eventually } from '../fixtures/eventually.ts';
import { type Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { type Situation, table, type World, wrong } from '../fixtures/probe/table.ts';
import { ask, NODE, placedApp, wardenBox } from '../fixtures/warden-box.ts';

const HOST = 'network.outbound:api.example.com';
const PORT = 45_678;
const OTHERS = {
  'data of another': '/var/lib/device/apps/com.example.other/data/diary',
  'code of another': '/srv/apps/other/main.js',
  'the token of another': '/run/device/apps/other/credentials/token',
  "the operator's token": '/run/device/operator.token',
  'configuration of the device': '/etc/device/warden.json',
};
/** A node that containers have, and that no unit finds by itself. */
const NODE_PATH = '/dev/net/tun';
const LAMP = 'sensors.node:lamp';
const LANGUAGES = { node: [NODE, 'main.mjs'], python: ['/usr/bin/python3', 'main.py'] } as const;
const GRANTS: readonly (readonly [name: string, grants: readonly string[], network: Situation['network']])[] = [
  ['alone', [], 'none'],
  ['named', [HOST, LAMP, 'storage-scoped'], 'hosts'],
  ['open', ['network.outbound', LAMP, 'storage-scoped'], 'open'],
];

/** What would answer an app that got through. */
async function listen(box: Container, paths: readonly string[]): Promise<void> {
  const script = `import { createServer } from 'node:net';
for (const at of [...${JSON.stringify(paths)}, { port: ${PORT}, host: '127.0.0.1' }]) createServer((socket) => { socket.on('error', () => {}); socket.destroy(); }).listen(at);`;
  writeFileSync(box.path('/srv/listen.mjs'), script);
  await box.output(`systemd-run -q --unit=listen --property=UMask=0000 --uid=device ${NODE} /srv/listen.mjs`);
  await eventually(
    async () => (await box.run(paths.map((path) => `test -S ${path}`).join(' && '))).status === 0,
    'the listening sockets',
  );
}

async function reach(language: keyof typeof LANGUAGES): Promise<void> {
  const [program, file] = LANGUAGES[language];
  await using box = await wardenBox({ nodes: { lamp: { path: NODE_PATH, access: 'rw' } } });
  for (const file of Object.values(OTHERS).filter((path) => !path.startsWith('/etc'))) {
    mkdirSync(dirname(box.path(file)), { recursive: true });
    writeFileSync(box.path(file), 'secret');
    chmodSync(box.path(file), 0o644);
  }
  const placed = [];
  for (const [at, [name]] of GRANTS.entries()) placed.push(await placedApp(box, name, 40_001 + at, ''));
  const sockets = placed.map(({ run }) => `${run}/rpc.sock`);
  await box.output('chown -R device:device /run/device/apps/other');
  await listen(box, [...sockets, '/run/device/shared/core.sock', '/run/device/apps/other/rpc.sock']);
  const pid = Number(await box.output('systemctl show -P MainPID device-core'));
  for (const [at, [name, grants, network]] of GRANTS.entries()) {
    const { code, data = '', cache = '', run, uid = 0 } = placed[at]!;
    const socket = '/run/device/shared/core.sock';
    const world: World = {
      own: {
        code,
        data,
        cache,
        token: `/run/credentials/app-${name}.service/token`,
        socket: `${run}/rpc.sock`,
        shared: socket,
      },
      others: OTHERS,
      otherSocket: '/run/device/apps/other/rpc.sock',
      otherFolder: '/run/device/apps/other',
      node: NODE_PATH,
      neighbour: '/dev/loop-control',
      pid,
      port: PORT,
    };
    const rows = table(world, { by: 'systemd', network, granted: grants.length > 0 });
    const source = join(import.meta.dirname, '../fixtures/probe');
    for (const [from, to] of [
      ['walls.mjs', 'main.mjs'],
      ['walls.py', 'main.py'],
    ] as const)
      copyFileSync(join(source, from), box.path(`${code}/${to}`));
    writeFileSync(
      box.path(`${code}/tries.json`),
      JSON.stringify(rows.map(({ name: row, try: one }) => ({ name: row, try: one }))),
    );
    symlinkSync('/checkout/node_modules', box.path(`${code}/node_modules`));
    const manifest = {
      id: `com.example.${name}`,
      name,
      title: name,
      version: '1.0.0',
      exec: { command: language, args: [file] },
      capabilities: [HOST, LAMP, 'network.outbound', 'storage-scoped'].map((id) => ({ id })),
    };
    const spec = specOf(
      manifest,
      grants,
      { nodes: { lamp: { path: NODE_PATH, access: 'rw' } } },
      {
        service: 'device',
        code,
        program,
        beside: ['/checkout'],
        data,
        cache,
        run,
        rpc: `${run}/rpc.sock`,
        uid,
        shared: { folder: '/run/device/shared', socket },
        path: '/usr/bin:/bin',
        lang: 'C.UTF-8',
      },
    );
    const answers = await ask(box, [
      { verb: 'put', spec },
      { verb: 'start', name: spec.name },
    ]);
    assert.deepEqual(answers, [{ ok: true }, { ok: true }]);
    const said = await eventually(async () => {
      const text = await box.output(`journalctl -q -o cat SYSLOG_IDENTIFIER=${spec.name}`);
      return text.split('\n').find((line) => line.startsWith('{'));
    }, `the answers of ${name}`).catch(async (error: Error) => {
      error.message += (await box.run(`journalctl -q -o cat -u ${spec.name}; systemctl status ${spec.name}`)).stdout;
      throw error;
    });
    assert.deepEqual(wrong(rows, JSON.parse(said ?? '{}')), [], name);
  }
}

suite('what an app finds when it reaches out, in a unit', { skip: WITHOUT_CONTAINERS }, () => {
  for (const language of Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[])
    test(`with nothing granted, with named hosts and a node, and with the open network, in ${language}`, () =>
      reach(language));

  test('a static program runs where nothing of the system is seen', async () => {
    await using box = await wardenBox();
    const { code, data = '', cache = '', run, uid = 0 } = await placedApp(box, 'rock', 40_001, '');
    const program = `${code}/bin/rock`;
    await box.output(`mkdir ${code}/bin && cp /sbin/ldconfig ${program}`);
    const manifest = {
      id: 'com.example.rock',
      name: 'rock',
      title: 'Rock',
      version: '1.0.0',
      capabilities: [],
      runtime: { kind: 'static' as const },
      exec: { command: 'bin/rock', args: ['--version'] },
    };
    const place = { service: 'device', code, program, data, cache, run, rpc: `${run}/rpc.sock`, uid };
    const spec = specOf(manifest, [], {}, { ...place, path: '/usr/bin:/bin', lang: 'C.UTF-8' });
    assert.deepEqual(
      await ask(box, [
        { verb: 'put', spec },
        { verb: 'start', name: spec.name },
      ]),
      [{ ok: true }, { ok: true }],
    );
    const said = () => box.output(`journalctl -q -o cat SYSLOG_IDENTIFIER=${spec.name}`);
    await eventually(async () => /^ldconfig \(/m.test(await said()), 'its version').catch(async (error: Error) => {
      error.message += (await box.run(`systemctl status ${spec.name}; journalctl -q -o cat -u ${spec.name}`)).stdout;
      throw error;
    });
    assert.match(await box.output(`systemctl cat ${spec.name}`), /^TemporaryFileSystem=.* \/usr:ro( |$)/m);
  });
});
