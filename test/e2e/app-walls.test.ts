/** What an app cannot reach, whatever it is written in and however many processes it makes; and what becomes of apps where no wall can be made. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { WallMaker } from '@device-core/plugin-api/inside/services/launcher';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringify } from 'yaml';
import { WallLauncher } from '../../kernel/walls/launcher.ts';
import { startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_PYTHON } from '../fixtures/python.ts';
import { healthReport, withoutWalls } from '../fixtures/walls.ts';

after(leakCheck());

const FIXTURES = join(import.meta.dirname, '../fixtures/probe');
const ID = 'com.example.probe';
const LANGUAGES = {
  Node: { command: 'node', args: ['main.ts'] },
  Python: { command: 'python3', args: ['-B', 'main.py'] },
} as const;

interface Seen {
  readonly found: Readonly<Record<string, string>>;
  readonly orphan: Readonly<Record<string, string>>;
  readonly manifest: string;
  readonly health: Awaited<ReturnType<typeof healthReport>>;
}

interface Options {
  readonly best: WallMaker;
  readonly language?: keyof typeof LANGUAGES;
  readonly insecure?: boolean;
  readonly capabilities?: readonly string[];
}

/** Runs the probe as an app of a whole Core. `refused`: with the status of the app, which did not start. */
async function reach({
  best,
  language = 'Node',
  insecure = false,
  capabilities = [],
}: Options): Promise<Seen | { readonly refused: AppStatus }> {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const run = join(root, 'run');
  const folder = join(root, 'var/apps', ID);
  const files = {
    operator: join(run, 'operator.token'),
    token: join(run, 'apps/other/credentials/token'),
    data: join(root, 'var/apps/com.example.other/data/diary'),
    log: join(root, 'var/log/core.log'),
  };
  for (const file of [files.token, files.data]) {
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'secret');
  }
  mkdirSync(folder, { recursive: true });
  for (const name of ['probe.ts', 'main.ts', 'main.py']) copyFileSync(join(FIXTURES, name), join(folder, name));
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { readonly port: number };
  const manifest = join(folder, 'app.yaml');
  const paths = {
    folders: { run, apps: join(root, 'var/apps') },
    writes: { manifest, code: join(folder, 'main.ts'), other: files.data },
  };
  const targets = { files, ...paths, socket: join(run, 'core.sock'), pid: process.pid, port };
  writeFileSync(join(folder, 'targets.json'), JSON.stringify(targets));
  const claims = ['storage-scoped', ...capabilities].map((id) => ({ id, reason: 'it is tested' }));
  writeFileSync(
    manifest,
    stringify({
      manifestVersion: 1,
      id: ID,
      name: 'probe',
      version: '1.0.0',
      title: 'Probe',
      exec: LANGUAGES[language],
      capabilities: claims,
      health: { kind: 'none' },
      lifecycle: { autostart: false, restart: 'never' },
    }),
  );
  const before = readFileSync(manifest, 'utf8');
  const core = await startCore({
    root,
    grants: { [ID]: capabilities },
    plugins: {
      operations: '^1.0.0',
      identity: '^1.0.0',
      system: '^1.0.0',
      limits: '^1.0.0',
      http: '^1.0.0',
      rpc: '^1.0.0',
      'supervisor-process': '^1.0.0',
      apps: '^1.0.0',
    },
    config: { http: { tcp: false }, apps: { insecure } },
    services: { launcher: new WallLauncher(best) },
  });
  try {
    const status = await core.service(apps).start(ID);
    // Without walls it writes its manifest, and is started once more for that.
    if (!status.state.endsWith('ing')) return { refused: status };
    const read = async (name: string) => {
      const file = join(folder, 'data', name);
      await eventually(() => existsSync(file), name, { ms: 120_000 }).catch((error: Error) => {
        error.message += ` ${readFileSync(join(root, 'var/log/apps/probe.log'), 'utf8')}`;
        throw error;
      });
      return JSON.parse(readFileSync(file, 'utf8'));
    };
    const [found, orphan] = [await read('found.json'), await read('orphan.json')];
    const changed = readFileSync(manifest, 'utf8') === before ? 'as it was' : 'changed';
    return { found, orphan, manifest: changed, health: await healthReport(core.service(operations)) };
  } finally {
    await core.stop();
    server.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const INSIDE = {
  'read operator': 'ENOENT',
  'read token': 'ENOENT',
  'read data': 'ENOENT',
  'read log': 'ENOENT',

  'list run': 'done',
  'list apps': 'done',
  'write manifest': 'EROFS',
  'write code': 'EROFS',
  'write other': 'ENOENT',
  processes: 'own',
  'signal 0': 'ESRCH',
  'signal SIGWINCH': 'ESRCH',
  tcp: 'EAFNOSUPPORT',
};

function ran(seen: Awaited<ReturnType<typeof reach>>): Seen {
  assert.ok('found' in seen, JSON.stringify(seen));
  return seen;
}

describe('an app', () => {
  for (const language of ['Node', 'Python'] as const)
    it(`in ${language} reaches nothing that is not its own, nor does a process that left its session and its parent`, {
      skip: withoutWalls('bubblewrap') || (language === 'Python' && WITHOUT_PYTHON),
    }, async () => {
      const { found, orphan, manifest, health } = ran(await reach({ best: 'bubblewrap', language }));
      // The shared socket is there and knows the app: it is not the operator.
      assert.deepEqual(found, { ...INSIDE, operator: '403' });
      assert.deepEqual(orphan, { ...INSIDE, operator: '403' });
      assert.equal(manifest, 'as it was');
      assert.deepEqual(health.warnings, []);
      assert.equal(health.walls?.code, undefined);
    });

  it('has the network that was granted, and nothing else with it', { skip: withoutWalls('bubblewrap') }, async () => {
    const { found } = ran(await reach({ best: 'bubblewrap', capabilities: ['network.outbound'] }));
    assert.deepEqual(found, { ...INSIDE, tcp: 'done', operator: '403' });
  });

  for (const best of ['namespaces', 'none'] as const)
    it(`is refused where there is ${best === 'none' ? 'no wall' : 'no wall around its files'}, with the remedy`, {
      skip: withoutWalls(best),
    }, async () => {
      const seen = await reach({ best });
      assert.ok('refused' in seen);
      assert.equal(seen.refused.state, 'failed');
      assert.match(
        seen.refused.reason ?? '',
        /^SANDBOX_UNAVAILABLE: cannot run app-probe without walls .*files.*; install bubblewrap, or set apps.insecure: true in the SKU/,
      );
    });

  it('runs without walls where the SKU says apps.insecure, and /health warns', async () => {
    const { found, health } = ran(await reach({ best: 'none', insecure: true }));
    assert.deepEqual([found['read operator'], found['signal 0'], found.tcp], ['done', 'done', 'done']);
    assert.notEqual(found.operator, '200', 'it is not taken for the operator all the same');
    assert.equal(health.warnings.length, 1);
    assert.match(health.warnings[0]!, /^walls: none; /);
  });

  it('runs in the walls that there are where the SKU says apps.insecure', {
    skip: withoutWalls('namespaces'),
  }, async () => {
    const { found, orphan } = ran(await reach({ best: 'namespaces', insecure: true }));
    for (const seen of [found, orphan]) {
      assert.deepEqual([seen['signal 0'], seen.tcp, seen.processes], ['ESRCH', 'ENETUNREACH', 'own']);
      assert.notEqual(seen.operator, '200');
    }
  });
});
