/** The end of a program inside walls, whatever makes them: its code or its signal, and no trace of it when the process outside is killed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import type { SandboxSpec } from '@device-core/plugin-api/inside/sandbox';
import { programOf } from '../../kernel/walls/descent.ts';
import { WallLauncher } from '../../kernel/walls/launcher.ts';
import { eventually } from '../fixtures/eventually.ts';
import { withoutWalls } from '../fixtures/walls.ts';

const OTHER_USER = 40_002;
const asRoot = process.geteuid?.() === 0;

interface Running {
  readonly child: ChildProcess;
  readonly above: number;
  /** Code or signal as a supervisor reads it, and what the guest wrote to its standard error. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null; readonly stderr: string }>;
}

async function run(by: 'bubblewrap' | 'namespaces' | 'user' | 'none', script: string, uid?: number): Promise<Running> {
  const spec: SandboxSpec = {
    name: 'guest',
    program: '/bin/sh',
    args: ['-c', script],
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },

    files: { read: [], write: [] },
    sockets: [],
    network: 'none',
    nodes: [],
    ...(uid === undefined ? {} : { uid }),
  };
  const { command, args, cwd, env, feeds, above } = await new WallLauncher(by).prepare(spec);
  const stdio = ['ignore', 'ignore', 'pipe', ...feeds.map(() => 'pipe' as const)] as const;
  const child = spawn(command, args, { cwd, env, stdio: [...stdio], detached: true });
  for (const { descriptor, bytes } of feeds) (child.stdio[descriptor] as NodeJS.WritableStream).end(bytes);
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    const inside = Object.entries(constants.signals).find(([, number]) => above > 0 && code === 128 + number)?.[0];
    return inside === undefined ? { code, signal, stderr } : { code: null, signal: inside, stderr };
  });
  return { child, above, ended };
}

function alive(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

const program = ({ child, above }: Running): Promise<number> =>
  eventually(() => {
    const pid = programOf(child.pid!, above);
    return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep') && pid;
  }, 'the program');

for (const by of ['bubblewrap', 'namespaces', 'user', 'none'] as const)
  describe(`a program in walls by ${by}`, { skip: withoutWalls(by) }, () => {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGABRT', 'SIGHUP', 'SIGPIPE'] as const)
      it(`that ends itself by ${signal} is reported so`, async () => {
        const { ended } = await run(by, `kill -${signal.slice(3)} $$; sleep 60`);
        assert.deepEqual(await ended, { code: null, signal, stderr: '' });
      });

    for (const code of [0, 1, 9, 125, 126, 127])
      it(`that ends with code ${code} is reported so, with all that it wrote`, async () => {
        const { ended } = await run(by, `echo out of oven >&2; exit ${code}`);
        assert.deepEqual(await ended, { code, signal: null, stderr: 'out of oven\n' });
      });

    for (const uid of [undefined, ...(asRoot && by !== 'none' ? [OTHER_USER] : [])]) {
      const who = uid === undefined ? 'as the user of the Core' : 'as another user';

      // The killer of a system without memory sends the same signal to the same process.
      it(`that is killed from outside is reported so, ${who}`, async () => {
        const running = await run(by, 'exec sleep 60', uid);
        process.kill(await program(running), 'SIGKILL');
        assert.deepEqual(await running.ended, { code: null, signal: 'SIGKILL', stderr: '' });
      });

      // The others have no process outside.
      if (by === 'bubblewrap' || by === 'namespaces')
        it(`ends with the process outside, ${who}`, async () => {
          const running = await run(by, 'exec sleep 60', uid);
          const pid = await program(running);
          running.child.kill('SIGKILL');
          await running.ended;
          await eventually(() => !alive(pid), 'the end of the program');
        });
    }
  });
