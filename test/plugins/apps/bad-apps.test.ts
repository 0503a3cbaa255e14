/** Apps that do what no app should: the device lives, the app gets what its manifest allows, and everybody can read why. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { AppManifest, AppStatus } from '@device-core/plugin-api/services/apps';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Bench, CONNECT, eventually, manifestOf, processesAt, putApp, startBench } from './fixture.ts';

after(leakCheck());

const ID = 'com.example.demo';
/** It may keep files. */
const KEEPS = [{ id: 'storage-scoped', reason: 'tells what became of it' }] as const;
const LONG = { crash: { backoffMs: [60_000], limit: 5, windowMs: 600_000 } };

interface Row {
  readonly what: string;
  readonly script: string;
  readonly manifest?: Partial<AppManifest>;
  /** Resolves when what has to come of it has come. */
  readonly comes: (bench: Bench, file: (name: string) => string) => Promise<unknown>;
}

const crashed =
  (reason: RegExp) =>
  async (bench: Bench): Promise<void> => {
    const { reason: told } = await bench.reach(ID, 'backoff');
    assert.match(told ?? '', reason);
    assert.deepEqual(processesAt(join(bench.installed, ID, 'data')), [], 'nothing of it is left');
  };
const running = async (bench: Bench): Promise<AppStatus> => bench.reach(ID, 'running');

const ROWS: readonly Row[] = [
  {
    what: 'takes more memory than its budget is ended for that',
    script: `${CONNECT}; global.all = Array.from({ length: 40 }, () => Buffer.alloc(8 << 20, 1));`,
    manifest: { resources: { memoryMaxMB: 100 } },
    comes: crashed(/^it took \d+ MB of memory, and its budget is 100 MB$/),
  },
  {
    what: 'makes more processes than its budget is ended, and all of them with it',
    script: `${CONNECT}; require('node:child_process').spawn('sh', ['-c', 'for i in $(seq 150); do sleep 1000 & done; wait'], { stdio: 'ignore' });`,
    manifest: { resources: { tasksMax: 40 } },
    comes: crashed(/^it had \d+ processes and threads, and its budget is 40$/),
  },
  {
    what: 'fills its disk gets an error of the system at once',
    script: `${CONNECT}; const fs = require('node:fs'); try { fs.writeFileSync('data/big', ''); fs.truncateSync('data/big', 80 << 20); fs.writeFileSync('data/told', 'done'); } catch (error) { fs.writeFileSync('data/told', error.code); }`,
    manifest: { resources: { storageMB: 1 }, capabilities: KEEPS },
    async comes(bench, file) {
      await running(bench);
      // Writing begins with an empty file.
      assert.equal(
        await eventually(() => (existsSync(file('told')) && readFileSync(file('told'), 'utf8')) || undefined, 'an end'),
        'EFBIG',
      );
    },
  },
  {
    what: 'opens files without end gets an error of the system',
    script: `${CONNECT}; const fs = require('node:fs'); const open = []; try { for (let i = 0; i < 5000; i++) open.push(fs.openSync('/dev/null')); } catch (error) { for (const one of open) fs.closeSync(one); fs.writeFileSync('data/told', error.code); }`,
    manifest: { capabilities: KEEPS },
    async comes(bench, file) {
      await running(bench);
      assert.equal(
        await eventually(() => (existsSync(file('told')) && readFileSync(file('told'), 'utf8')) || undefined, 'an end'),
        'EMFILE',
      );
    },
  },
  {
    what: 'writes a million lines runs on, and what is dropped is counted and told',
    script: `${CONNECT}; let left = 1e6; const write = () => { while (left > 0 && process.stdout.write(('line ' + left-- + '\\n'))); if (left > 0) process.stdout.once('drain', write); else setInterval(() => console.log('quiet again'), 100); }; write();`,
    async comes(bench) {
      await running(bench);
      const log = join(bench.paths.var, 'log/apps/demo.log');
      const told = await eventually(
        async () => {
          const text = [log, `${log}.1`].map((name) => (existsSync(name) ? readFileSync(name, 'utf8') : '')).join('');
          if (!text.includes('quiet again')) return undefined;
          return [...text.matchAll(/(\d+) lines \(\d+ KiB\) were dropped here/g)].map((found) => Number(found[1]));
        },
        'the count of dropped lines',
        { ms: 120_000 },
      );
      const sum = told.reduce((all, count) => all + count, 0);
      assert.ok(sum > 100_000, `${sum} were told`);
      assert.equal((await bench.status(ID)).state, 'running');
    },
  },
  {
    what: 'closes its socket and opens it without end runs as long as it comes back',
    script: `const net = require('node:net'); const again = () => { const socket = net.connect(process.env.DEVICE_RPC_SOCKET, () => socket.destroy()); socket.on('error', () => {}); socket.on('close', () => setTimeout(again, 1)); }; again();`,
    async comes(bench) {
      let sessions = 0;
      using _ = bench.sockets.onSession(({ state }) => {
        if (state === 'open') sessions += 1;
      });
      await eventually(() => sessions > 200, 'two hundred sessions');
      assert.equal((await running(bench)).restarts, 0);
      assert.equal((await bench.apps.stop(ID)).state, 'stopped');
    },
  },
  {
    what: 'takes no notice of a stop, and left a process in a session of its own, is gone after its grace',
    script: `process.on('SIGTERM', () => {}); require('node:child_process').spawn('sh', ['-c', '(setsid sleep 1000 &) ; trap "" TERM; sleep 1000'], { stdio: 'ignore' }).unref(); setTimeout(() => {${CONNECT}}, 50);`,
    manifest: { lifecycle: { stopTimeoutMs: 100 } },
    async comes(bench) {
      await running(bench);
      assert.equal((await bench.apps.stop(ID)).state, 'stopped');
      assert.deepEqual(processesAt(join(bench.installed, ID, 'data')), []);
    },
  },
];

describe('an app that', () => {
  for (const { what, script, manifest, comes } of ROWS)
    it(what, async () => {
      await using bench = await startBench({
        config: LONG,
        prepare: (installed) => putApp(installed, manifestOf(ID, manifest), script),
      });
      await bench.apps.start(ID);
      await comes(bench, (name) => join(bench.installed, ID, 'data', name));
    });
});
