/** Parts of supervisor-systemd without a systemd: how units end, what the journal says, a warden that misbehaves, who gets a token, a bus that goes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type DBusValue, Variant } from '@device-core/plugin-api/inside/dbus';
import { moveAside, remainsOf } from '@device-core/plugin-api/inside/pending-state';
import type { ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Credentials } from '../../../plugins/apps/supervisor-systemd/credentials.ts';
import { type GuestJournal, GuestOutput } from '../../../plugins/apps/supervisor-systemd/guest-output.ts';
import { journalLine } from '../../../plugins/apps/supervisor-systemd/journal-line.ts';
import { loadSocketNames } from '../../../plugins/apps/supervisor-systemd/native.ts';
import { Remains } from '../../../plugins/apps/supervisor-systemd/remains.ts';
import { SystemBus } from '../../../plugins/apps/supervisor-systemd/system-bus.ts';
import { endOf } from '../../../plugins/apps/supervisor-systemd/unit-end.ts';
import { UnitRun } from '../../../plugins/apps/supervisor-systemd/unit-run.ts';
import { usageOf } from '../../../plugins/apps/supervisor-systemd/unit-usage.ts';
import { WardenClient } from '../../../plugins/apps/supervisor-systemd/warden-client.ts';
import { FakeBus } from '../../fixtures/dbus-peer.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());
const folder = mkdtempSync(join(tmpdir(), 'sys-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const OOM = { signal: 'SIGKILL', cause: 'memory', reason: 'it took too much memory, and its budget is 96 MB' };
describe('a unit that ended', () => {
  const ENDS: readonly [
    why: string,
    properties: readonly [string, string, number, number],
    ran: boolean,
    stopped: boolean,
    end: object,
  ][] = [
    ['with a code', ['Result', 'exit-code', 1, 3], true, false, { code: 3, cause: 'exit' }],
    ['in peace', ['Result', 'success', 1, 0], true, false, { code: 0, cause: 'exit' }],
    ['by a signal', ['Result', 'signal', 2, 9], true, false, { signal: 'SIGKILL', cause: 'signal' }],
    ['with a core dump', ['Result', 'core-dump', 3, 11], true, false, { signal: 'SIGSEGV', cause: 'signal' }],
    ['for want of memory', ['Result', 'oom-kill', 2, 9], true, false, OOM],
    ['because it was asked to', ['Result', 'success', 2, 15], true, true, { signal: 'SIGTERM', cause: 'stopped' }],
    [
      'because somebody else stopped it',
      ['Result', 'success', 2, 15],
      true,
      false,
      { signal: 'SIGTERM', cause: 'stopped', reason: 'another program stopped its unit' },
    ],
    [
      'before its program ran',
      ['Result', 'exit-code', 1, 203],
      false,
      false,
      { cause: 'start', reason: 'its program could not be executed' },
    ],
    [
      'without its token',
      ['Result', 'exit-code', 1, 243],
      false,
      false,
      { cause: 'start', reason: 'its token was not handed over' },
    ],
    ['with a code before it was active', ['Result', 'exit-code', 1, 3], false, false, { code: 3, cause: 'exit' }],
    ['in peace before it was active', ['Result', 'success', 1, 0], false, false, { code: 0, cause: 'exit' }],
    [
      'by a signal before it was active',
      ['Result', 'signal', 2, 9],
      false,
      false,
      { signal: 'SIGKILL', cause: 'signal' },
    ],
    [
      'for want of time before it was active',
      ['Result', 'timeout', 2, 9],
      false,
      false,
      { cause: 'start', reason: 'systemd could not start it: timeout (2/9)' },
    ],
    ['with code 203 of its own', ['Result', 'exit-code', 1, 203], true, false, { code: 203, cause: 'exit' }],
    [
      'for want of resources',
      ['Result', 'resources', 0, 0],
      false,
      false,
      { cause: 'start', reason: 'systemd could not start it: resources (0/0)' },
    ],
  ];
  for (const [why, [, result, code, status], ran, stopped, end] of ENDS)
    test(`${why} is told so`, () => {
      const known = { Result: result, ExecMainCode: code, ExecMainStatus: status, MemoryMax: 96n << 20n };
      const service = new Map<string, DBusValue>(Object.entries(known));
      assert.deepEqual(endOf(service, ran, stopped), end);
    });

  test('takes what systemd counts, and nothing of what it does not', () => {
    const service = new Map<string, DBusValue>([
      ['MemoryCurrent', 4_096n],
      ['TasksCurrent', 2n ** 64n - 1n],
      ['CPUUsageNSec', 5_400_000n],
    ]);
    assert.deepEqual(usageOf(service), { memory: 4_096, cpuMs: 5, tasks: 0 });
  });
});

describe('a line of which the journal does not know the start', () => {
  const line = (at: number, text: string, invocation: string | undefined, from: 'stdout' | 'log' = 'stdout') =>
    ({ line: { at, level: 'info', from, text }, invocation }) as const;
  const KEPT = [
    line(90, 'before', undefined),
    line(110, 'quick', undefined),
    line(150, 'between', '', 'log'),
    line(210, 'second', 'bb'),
    line(220, 'late', undefined),
  ];
  const journal: GuestJournal = {
    lines: async (_name, most, part) =>
      KEPT.filter(({ line: { at, from }, invocation }) => {
        if (part === undefined) return true;
        if ('invocation' in part) return invocation === part.invocation;
        return from === 'stdout' && at >= part.since && at <= (part.until ?? 1_000);
      }).slice(-most),
    closed: async () => true,
    follow: () => ({ [Symbol.dispose]: () => undefined }),
    write: async () => undefined,
  };
  const output = new GuestOutput(journal, virtualClock());
  output.began('app-a', '', { run: 'a.0', since: 50 });
  output.began('app-a', 'aa', { run: 'a.1', since: 100 });
  output.began('app-a', 'bb', { run: 'a.2', since: 200 });

  test('is that of the run which went on then', async () => {
    const told = (await output.lines('app-a', 10)).map(({ text, run }) => [text, run]);
    assert.deepEqual(told, [
      ...[
        ['before', undefined],
        ['quick', 'a.1'],
        ['between', undefined],
      ],
      ...[
        ['second', 'a.2'],
        ['late', 'a.2'],
      ],
    ]);
  });

  for (const [run, most, texts] of [
    ['a.0', 10, []],
    ['a.1', 10, ['quick']],
    ['a.2', 10, ['second', 'late']],
    ['a.2', 1, ['late']],
  ] as const)
    test(`is found with ${run}, of ${most} lines`, async () => {
      assert.deepEqual(
        (await output.lines('app-a', most, run)).map(({ text }) => text),
        texts,
      );
    });
});

describe('a line of the journal', () => {
  const base = {
    __REALTIME_TIMESTAMP: '1700000000123456',
    _SYSTEMD_UNIT: 'app-a.service',
    _SYSTEMD_INVOCATION_ID: 'ab',
    PRIORITY: '6',
  };
  const LINES: readonly [why: string, said: object, line: object | undefined][] = [
    ['of a guest', { MESSAGE: 'hello' }, { at: 1_700_000_000_123, level: 'info', from: 'stdout', text: 'hello' }],
    [
      'with a priority',
      { MESSAGE: 'ouch', PRIORITY: '3' },
      { at: 1_700_000_000_123, level: 'error', from: 'stdout', text: 'ouch' },
    ],
    [
      'of JSON',
      { MESSAGE: '{"level":"warn","msg":"hot","oven":1,"time":5}' },
      { at: 1_700_000_000_123, level: 'warn', from: 'stdout', text: 'hot', fields: { oven: 1 } },
    ],
    [
      'of its owner',
      { MESSAGE: '{"level":"info","msg":"x"}', _SYSTEMD_UNIT: 'device-core.service' },
      { at: 1_700_000_000_123, level: 'info', from: 'log', text: 'x' },
    ],
    ['of bytes', { MESSAGE: [104, 105] }, { at: 1_700_000_000_123, level: 'info', from: 'stdout', text: 'hi' }],
    ['that was too long for the journal', { MESSAGE: null }, undefined],
  ];
  for (const [why, said, line] of LINES)
    test(`${why} is told as the rest of the device knows it`, () => {
      assert.deepEqual(journalLine(JSON.stringify({ ...base, ...said }), 'app-a.service')?.line, line);
    });

  test('of anything at all is a line or none', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc
            .dictionary(fc.constantFrom('MESSAGE', '__REALTIME_TIMESTAMP', 'PRIORITY'), fc.anything())
            .map((said) => String(safe(said))),
        ),
        (line) => {
          const told = journalLine(line, 'app-a.service');
          assert.ok(told === undefined || typeof told.line.text === 'string');
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

function safe(value: unknown): string {
  return JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? Number(one) : one));
}

describe('a warden', () => {
  const cases: readonly [why: string, answer: (socket: Socket) => void, code: string, message: RegExp][] = [
    [
      'that refuses is heard',
      (socket) => socket.end('{"refused":"user 0 is none"}\n'),
      'WARDEN_REFUSED',
      /start of app-a: user 0 is none/,
    ],
    [
      'that the system hinders is told apart',
      (socket) => socket.end('{"failed":"no space"}\n'),
      'UNAVAILABLE',
      /no space/,
    ],
    [
      'that dies before it answers is named',
      (socket) => socket.destroy(),
      'UNAVAILABLE',
      /ended before it answered|ECONNRESET|EPIPE/,
    ],
    [
      'that dies in the middle of its answer is named',
      (socket) => socket.end('{"ok":'),
      'UNAVAILABLE',
      /ended before it answered/,
    ],
    ['that says no JSON is named', (socket) => socket.end('hello\n'), 'UNAVAILABLE', /no JSON/],
    ['that never ends its answer is cut', (socket) => socket.write('x'.repeat(300_000)), 'UNAVAILABLE', /no end/],
  ];
  for (const [why, answer, code, message] of cases)
    test(why, async () => {
      const path = join(folder, 'warden.sock');
      const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => answer(socket)));
      await once(server.listen(path), 'listening');
      await using own = part();
      await assert.rejects(new WardenClient(path, own.scope).ask({ verb: 'start', name: 'app-a' }), { code, message });
      server.close();
    });

  test('that is not there, and one that says nothing, are named', async () => {
    const clock = virtualClock();
    await using own = part(clock);
    const path = join(folder, 'warden.sock');
    await assert.rejects(new WardenClient(`${path}.none`, own.scope).ask({ verb: 'list' }), {
      code: 'UNAVAILABLE',
      message: /ENOENT/,
    });
    const heard = Promise.withResolvers<Socket>();
    const server = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => heard.resolve(socket)),
    );
    await once(server.listen(path), 'listening');
    const waiting = assert.rejects(new WardenClient(path, own.scope).ask({ verb: 'list' }), { code: 'TIMEOUT' });
    const socket = await heard.promise;
    await clock.advance(90_001);
    await waiting;
    socket.destroy();
    server.close();
  });
});

describe('remains of guests', () => {
  const wardenThat = (refuses: () => boolean, asked: string[] = [], meanwhile: () => void = () => undefined) => ({
    ask: async ({ verb }: { readonly verb: string }) => {
      asked.push(verb);
      if (refuses()) throw new CoreError('WARDEN_REFUSED', { what: 'the reclaim', reason: 'no verb' });
      meanwhile();
    },
  });

  test('is removed once the warden gave it back, left alone where that refuses, and not asked for where there is none', async () => {
    await using own = part();
    const asked: string[] = [];
    let refuses = true;
    const state = mkdtempSync(join(folder, 'state-'));
    const remains = new Remains(
      state,
      wardenThat(() => refuses, asked),
    );
    assert.equal(await remains.sweep(), false);
    assert.deepEqual(asked, []);
    mkdirSync(join(state, 'apps/a/data'), { recursive: true });
    const place = moveAside(state, 'apps/a', [{ path: 'apps/a/data', reason: 'EACCES' }]);
    await remains.sweepQuietly(own.log);
    await assert.rejects(remains.sweep(), { code: 'WARDEN_REFUSED' });
    assert.ok(existsSync(join(state, place, 'data')));
    assert.deepEqual(remainsOf(state), [{ path: `${place}/data`, reason: 'EACCES' }]);
    refuses = false;
    assert.equal(await remains.sweep(), true);
    assert.deepEqual([asked.length, existsSync(join(state, 'remains'))], [3, false]);
  });

  test('is told as long as it is there, also what comes while the rest is removed', async () => {
    const state = mkdtempSync(join(folder, 'state-'));
    const lay = (id: string) => {
      mkdirSync(join(state, 'apps', id, 'data'), { recursive: true });
      return moveAside(state, `apps/${id}`, [{ path: `apps/${id}/data`, reason: 'EACCES' }]);
    };
    let second = '';
    const first = lay('a');
    const warden = wardenThat(
      () => false,
      [],
      () => {
        if (second === '') second = lay('b');
      },
    );
    const remains = new Remains(state, warden);
    await remains.sweep();
    assert.deepEqual(
      [first, second].map((place) => existsSync(join(state, place))),
      [false, true],
    );
    assert.deepEqual(
      remainsOf(state).map(({ path }) => path),
      [`${second}/data`],
    );
    await Promise.all([remains.sweep(), remains.sweep()]);
    assert.equal(existsSync(join(state, 'remains')), false);
  });
});

describe('the token of a launch', () => {
  const UNIT = '\x000123456789abcdef/unit/app-a.service/token';
  /** A socket that systemd would have made, and somebody who connects by this name and user. */
  async function asked(peer: string, uid: number, times = 1, owner?: ProcessOwner): Promise<readonly string[]> {
    const path = join(folder, 'credentials.sock');
    const real = await loadSocketNames();
    const server = createServer();
    await once(server.listen(path), 'listening');
    const fd = (server as unknown as { _handle: { fd: number } })._handle.fd;
    assert.equal(real.own(fd), path);
    await using own = part();
    const names = { own: (one: number) => (one === 7 ? path : ''), peer: () => peer, copy: () => real.copy(fd) };
    const peerOf = async () => ({ pid: 1, uid, gid: 0, ...(owner && { owner }) });
    {
      using credentials = new Credentials({ path, names, identity: { peerOf }, log: own.log });
      using _ = credentials.offer('app-a', 'secret');
      // Its own server takes nobody any more, and takes its name with it.
      linkSync(path, `${path}.kept`);
      server.close();
      const got: string[] = [];
      for (let at = 0; at < times; at++)
        got.push(await text(connect(`${path}.kept`)).catch(({ code }: NodeJS.ErrnoException) => code ?? ''));
      rmSync(`${path}.kept`);
      return got;
    }
  }
  test('is handed to systemd for its unit, once', async () => {
    assert.deepEqual(await asked(UNIT, 0, 2), ['secret', '']);
  });
  test('is not handed to another user, to another unit, and to a name that only looks like it', async () => {
    assert.deepEqual(await asked(UNIT, 1_000), ['']);
    assert.deepEqual(await asked(UNIT.replace('app-a', 'app-b'), 0), ['']);
    assert.deepEqual(await asked(UNIT.slice(1), 0), ['']);
    assert.deepEqual(await asked(`${UNIT}x`, 0), ['']);
    assert.deepEqual(await asked('', 0), ['']);
    for (const kind of ['core', 'unknown'] as const) assert.deepEqual(await asked(UNIT, 0, 1, { kind }), ['']);
  });
  test('cannot be given where systemd handed no socket over', async () => {
    await using own = part();
    const names = { own: () => '', peer: () => '', copy: () => -1 };
    const options = { path: '/run/x.sock', names, identity: { peerOf: async () => undefined }, log: own.log };
    assert.throws(() => new Credentials(options), { code: 'UNAVAILABLE', message: /started without this socket/ });
  });
});

describe('the bus of the system', () => {
  const state = { active: 'inactive', invocation: 1, code: 0, status: 0, result: 'success' };
  const opened = () =>
    FakeBus.open({
      answer: ({ member, body = [] }) => {
        if (member === 'LoadUnit') return { signature: 'o', body: ['/unit'] };
        if (member !== 'GetAll') return {};
        const unit = new Map<string, Variant>([
          ['ActiveState', new Variant('s', state.active)],
          ['InvocationID', new Variant('ay', new Uint8Array([state.invocation]))],
          ['Job', new Variant('(uo)', [0, '/'])],
          ['ActiveEnterTimestampMonotonic', new Variant('t', 2n ** 60n + 1n)],
          ['InactiveExitTimestampMonotonic', new Variant('t', 2n ** 60n)],
        ]);
        const service = new Map<string, Variant>([
          ['MainPID', new Variant('u', 1)],
          ['Result', new Variant('s', state.result)],
          ['ExecMainCode', new Variant('i', state.code)],
          ['ExecMainStatus', new Variant('i', state.status)],
        ]);
        return { signature: 'a{sv}', body: [String(body[0]).endsWith('.Unit') ? unit : service] };
      },
    });
  const changed = {
    path: '/unit',
    interface: 'org.freedesktop.DBus.Properties',
    member: 'PropertiesChanged',
    signature: 'sa{sv}as',
  };

  test('tells the end of a guest, and one that came while it was gone is told when it is back', async () => {
    Object.assign(state, { active: 'inactive', invocation: 1 });
    let bus = await opened();
    await using own = part();
    let path = bus.path;
    const back: (() => void)[] = [];
    const options = {
      scope: own.scope,
      clock: own.scope.clock,
      log: own.log,
      back: () => back.forEach((one) => void one()),
    };
    const system = new SystemBus({
      ...options,
      get path() {
        return path;
      },
    });
    const run = new UnitRun({
      run: 'a.1',
      name: 'a',
      unit: 'app-a.service',
      bus: system,
    });
    back.push(() => void run.resume());
    await run.attend();
    Object.assign(state, { active: 'active', invocation: 2 });
    await run.begun();
    assert.equal(run.guest.leader.pid, 1);
    bus.close();
    await eventually(() => system.gone !== undefined, 'it is known to be gone');
    await assert.rejects(run.properties(), { code: 'UNAVAILABLE', message: /systemd for app-a.service/ });
    Object.assign(state, { active: 'failed', result: 'signal', code: 2, status: 9 });
    await bus[Symbol.asyncDispose]();
    bus = await opened();
    path = bus.path;
    assert.deepEqual(await run.ended, { signal: 'SIGKILL', cause: 'signal' });
    assert.equal(system.gone, undefined);
    await bus[Symbol.asyncDispose]();
  });

  test('tells of a start that never came about, and of a run that is looked at anew', async () => {
    Object.assign(state, { active: 'inactive', invocation: 1 });
    await using bus = await opened();
    await using own = part();
    const system = new SystemBus({
      path: bus.path,
      scope: own.scope,
      clock: own.scope.clock,
      log: own.log,
      back: () => undefined,
    });
    const run = new UnitRun({ run: 'a.1', name: 'a', unit: 'app-a.service', bus: system });
    await run.attend();
    await run.begun();
    assert.equal((await run.ended).cause, 'start');
    Object.assign(state, { active: 'active', invocation: 3 });
    const former = new UnitRun({
      run: 'a.former',
      name: 'a',
      unit: 'app-a.service',
      bus: system,
    });
    await former.attend(true);
    assert.equal(former.invocation, '03');
    former.stopped = true;
    // systemd forgets a unit that ended in peace: what it told is all that there is.
    Object.assign(state, { active: 'inactive', invocation: 0, result: 'success', code: 0, status: 0 });
    const ended = (sort: string, values: readonly (readonly [string, Variant])[]) =>
      bus.emit({ ...changed, body: [`org.freedesktop.systemd1.${sort}`, new Map(values), []] });
    ended('Service', [
      ['Result', new Variant('s', 'success')],
      ['ExecMainCode', new Variant('i', 2)],
      ['ExecMainStatus', new Variant('i', 15)],
    ]);
    ended('Unit', [['ActiveState', new Variant('s', 'inactive')]]);
    assert.deepEqual(await former.ended, { signal: 'SIGTERM', cause: 'stopped' });
  });
});
