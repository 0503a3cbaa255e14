/** What a plugin in a process of its own cannot reach, and what is told where no wall can be made. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CapabilityId } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringify } from 'yaml';
import { WallLauncher } from '../../kernel/walls/launcher.ts';
import { startCore } from '../fixtures/core.ts';
import { culprits } from '../fixtures/culprits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { healthReport, withoutWalls } from '../fixtures/walls.ts';

after(leakCheck());

const MODULE = join(import.meta.dirname, '../fixtures/probe/index.ts');
const OPERATOR = { kind: 'operator', id: 'operator' } as const;

interface Seen {
  readonly found: Readonly<Record<string, string>>;
  /** What of these lies in the process's own root, whatever Node lets it read. */
  readonly visible: readonly string[];
  readonly health: Awaited<ReturnType<typeof healthReport>>;
}

/** Starts the probe as a plugin at level process, and lets it reach out. */
async function reach(
  best: string,
  more: { readonly capabilities?: readonly CapabilityId[]; readonly files?: object; readonly below?: string } = {},
): Promise<Seen> {
  const root = mkdtempSync(join(more.below ?? tmpdir(), 'dc-'));
  const run = join(root, 'run');
  const folder = join(root, 'probe');
  mkdirSync(join(root, 'var/apps/com.example.other/data'), { recursive: true });
  mkdirSync(join(run, 'apps/other/credentials'), { recursive: true });
  mkdirSync(folder);
  const files = {
    operator: join(run, 'operator.token'),
    token: join(run, 'apps/other/credentials/token'),
    data: join(root, 'var/apps/com.example.other/data/diary'),
  };
  for (const file of [files.token, files.data]) writeFileSync(file, 'secret');
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { readonly port: number };
  const manifest = join(folder, 'plugin.yaml');
  const targets = {
    files,
    folders: { run },
    writes: { manifest },
    socket: join(run, 'core.sock'),
    pid: process.pid,
    port,
  };
  const { capabilities = [], files: claims = {} } = more;
  writeFileSync(
    manifest,
    stringify({
      id: 'probe',
      version: '1.0.0',
      summary: 'Reaches out',
      api: '^1.0.0',
      main: MODULE,
      capabilities,
      files: claims,

      requires: { operations: '^1.0.0' },
      config: { type: 'object', properties: { targets: { type: 'object' } } },
    }),
  );
  const plugins = {
    operations: '^1.0.0',
    identity: '^1.0.0',
    system: '^1.0.0',
    limits: '^1.0.0',
    http: '^1.0.0',
    probe: { version: '^1.0.0', path: folder, isolation: 'process', config: { targets } },
  } as const;
  const core = await startCore({ root, plugins, services: { launcher: new WallLauncher(best) } });
  try {
    const table = core.service(operations);
    const call = { caller: OPERATOR, signal: new AbortController().signal, deadline: Date.now() + 30_000 };
    const found = (await table.invoke('probe.run', {}, call)) as Seen['found'];
    const pid = processWith('"plugin":"probe"');
    const paths = { ...files, run, socket: targets.socket };
    const visible = Object.entries(paths).flatMap(([name, path]) =>
      existsSync(`/proc/${pid}/root${path}`) ? [name] : [],
    );
    return { found, visible, health: await healthReport(table) };
  } finally {
    await core.stop();
    server.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** The youngest process with this in its command line: walls have it in theirs, too. */
function processWith(text: string): number {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .sort((a, b) => b - a);
  for (const pid of pids) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text)) return pid;
    } catch {
      // It has just ended.
    }
  }
  throw new Error(`no process has ${text}`);
}

const BY_NODE = {
  'read operator': 'ERR_ACCESS_DENIED',
  'read token': 'ERR_ACCESS_DENIED',
  'read data': 'ERR_ACCESS_DENIED',
  'list run': 'ERR_ACCESS_DENIED',
  'write manifest': 'ERR_ACCESS_DENIED',
  processes: 'ERR_ACCESS_DENIED',
};

describe('a plugin in a process', () => {
  it('cannot reach the Core, its files and sockets, other guests or the network', {
    skip: withoutWalls('bubblewrap'),
  }, async () => {
    const { found, visible, health } = await reach('bubblewrap');
    assert.deepEqual(visible, []);
    const away = { 'signal 0': 'ESRCH', 'signal SIGWINCH': 'ESRCH', tcp: 'EAFNOSUPPORT', operator: 'ENOENT' };
    assert.deepEqual(found, { ...BY_NODE, ...away });
    assert.deepEqual(health.warnings, []);
    assert.equal(health.walls?.status, 'okay');
    assert.match(
      health.walls.message ?? '',
      /^user: kernel, files: kernel, network: kernel, pids: kernel, signals: kernel, syscalls: kernel/,
    );
  });

  it('has the network that its manifest claims, and nothing else with it', {
    skip: withoutWalls('bubblewrap'),
  }, async () => {
    const { found, visible } = await reach('bubblewrap', { capabilities: ['network.outbound'] });
    assert.deepEqual(visible, []);
    assert.equal(found.tcp, 'done');
    assert.equal(found['signal 0'], 'ESRCH');
    assert.equal(found.operator, 'ENOENT');
  });

  for (const claim of ['{run}', '/'])
    it(`never sees the run folder, which holds tokens and sockets, by the claim ${claim}`, {
      skip: withoutWalls('bubblewrap'),
    }, async () => {
      const { found, visible } = await reach('bubblewrap', { files: { read: [claim] } });
      assert.equal(found['list run'], 'done', 'one of its own is in its place');
      // All of / is all of it but the run folder, whatever it was made for.
      assert.deepEqual(visible, claim === '/' ? ['data', 'run'] : ['run']);
      assert.deepEqual([found['read operator'], found['read token'], found.operator], ['ENOENT', 'ENOENT', 'ENOENT']);
    });

  it('cannot signal the Core or use the network where there are bare namespaces; its files are told', {
    skip: withoutWalls('namespaces'),
  }, async () => {
    // A guest has a separate /tmp.
    const { found, visible, health } = await reach('namespaces', { below: '/var/tmp' });
    assert.notDeepEqual(visible, [], 'it has no root of its own');
    assert.deepEqual(
      { ...found, operator: '' },
      { ...BY_NODE, 'signal 0': 'ESRCH', 'signal SIGWINCH': 'ESRCH', tcp: 'ENETUNREACH', operator: '' },
    );
    assert.equal(health.walls?.code, 'partial');
    assert.equal(health.warnings.length, 1);
    assert.match(
      health.warnings[0]!,
      /^walls: no .*files, syscalls; an app or a plugin in a process .*reads every file of the Core/,
    );
  });

  it('runs without walls where none can be made, and /health warns', async () => {
    const { found, health } = await reach('none');
    const { operator, ...rest } = found;
    assert.deepEqual(rest, { ...BY_NODE, 'signal 0': 'done', 'signal SIGWINCH': 'done', tcp: 'done' });
    assert.notEqual(operator, 'ENOENT');
    assert.deepEqual({ status: health.walls?.status, code: health.walls?.code }, { status: 'okay', code: 'none' });
    assert.equal(health.warnings.length, 1);
    assert.match(health.warnings[0]!, /^walls: none; .* ends the Core by a signal.*; install bubblewrap$/);
  });

  for (const by of ['bubblewrap', 'namespaces', 'none'] as const)
    it(`is reported with the signal that ended it, in walls by ${by}`, { skip: withoutWalls(by) }, async () => {
      const root = mkdtempSync(join(tmpdir(), 'dc-'));
      const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, ['silence'], 'process') };
      const core = await startCore({ root, plugins, services: { launcher: new WallLauncher(by) } });
      try {
        process.kill(processWith('"plugin":"silence"'), 'SIGKILL');
        const last = await eventually(async () => {
          const { plugins: all } = await core.kernel.status();
          return all.find(({ id }) => id === 'silence')?.lastError;
        }, 'the end of the plugin');
        assert.equal(last.code, 'PLUGIN_CRASHED');
        assert.match(last.message, /it was ended by SIGKILL$/);
      } finally {
        await core.stop();
        rmSync(root, { recursive: true, force: true });
      }
    });
});
