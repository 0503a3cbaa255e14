/** A hung app is found by `ping` and restarted; a busy board is nobody's fault (decisions D12a). */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError, type Scope } from '@device-core/plugin-api';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { Liveness, processorWait } from '../../../plugins/apps/apps/liveness.ts';
import { turns } from '../../fixtures/eventually.ts';
import { alive, type Bench, CONNECT, eventually, LONG_BACKOFF, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
/** Long enough for an answer of a fake, short for a test. */
const PING = { everyMs: 20, limitMs: 60, misses: 3 };

after(leakCheck());

async function running(more: Record<string, unknown> = {}, script?: string, config: object = {}): Promise<Bench> {
  const bench = await startBench({
    config: { ping: PING, ...config },
    prepare: (installed) => putApp(installed, manifestOf(ID, more), script),
  });
  await bench.apps.start(ID);
  return bench;
}

const never = () => new Promise<never>(() => undefined);

/** Pings of a quarter of a minute on a clock of the test. `answered` decides at what time of it each ping is answered; undefined: never. */
function pinged(answered: (ping: number) => number | undefined) {
  const clock = virtualClock();
  const ended = new AbortController();
  const { signal } = ended;
  const timeout = (_: string, ms: number, fn: () => void) => {
    assert.equal(signal.aborted, false, 'a scope that has ended refuses a timer');
    return clock.after(ms, fn);
  };
  const scope = { clock, signal, timeout } as unknown as Scope;
  const said: { readonly at: number; readonly reason: string }[] = [];
  let pings = 0;
  const liveness = new Liveness({
    label: ID,
    scope,
    limits: { everyMs: 15_000, limitMs: 2_000, misses: 3 },
    pid: 0,
    async ask(signal) {
      pings += 1;
      const after = answered(pings);
      if (after === undefined) return await never();
      await clock.sleep(after, signal);
      return true;
    },
    hung: (reason) => void said.push({ at: clock.monotonic(), reason }),
  });
  return { clock, said, liveness, ended, pings: () => pings };
}

describe('the limit of an answer', () => {
  it('is two seconds, three times in a row, a quarter of a minute apart', async () => {
    const { clock, said, pings } = pinged(() => undefined);
    await clock.advance(200_000);
    assert.deepEqual(said, [
      { at: 51_000, reason: 'it hangs: 3 pings in a row had no answer, the last one in 2000 ms' },
    ]);
    assert.equal(pings(), 3, 'nothing is asked any more');
  });

  it('begins anew with each answer', async () => {
    const { clock, said, liveness } = pinged((ping) => (ping % 3 === 0 ? 1_900 : undefined));
    await clock.advance(600_000);
    assert.deepEqual(said, []);
    liveness[Symbol.dispose]();
    assert.equal(clock.pending, 0);
  });

  it('is of no use to a plugin that has ended meanwhile: nothing is asked any more', async () => {
    const { clock, said, ended, pings } = pinged(() => 500);
    await clock.advance(15_200);
    ended.abort();
    await clock.advance(100_000);
    assert.deepEqual([pings(), said], [1, []]);
  });

  it('stretches with the time in which the app could not run, up to six times', async () => {
    const slow = pinged(() => 7_000);
    slow.clock.busy = 0.75;
    await slow.clock.advance(600_000);
    assert.deepEqual(slow.said, [], 'seven seconds on a board that is busy three quarters of the time');
    const starved = pinged(() => undefined);
    starved.clock.busy = 0.99;
    await starved.clock.advance(600_000);
    assert.match(
      starved.said[0]?.reason ?? '',
      /12000 ms by the clock, of which it could have run 1\d\d ms: the board is busy/,
    );
    slow.liveness[Symbol.dispose]();
  });

  it('counts what a process waited for a processor, of itself and of its children', () => {
    const waited = processorWait(process.pid);
    assert.equal(waited(), 0, 'since the first look');
    assert.ok(waited() >= 0);
    assert.equal(processorWait(0)(), 0, 'nobody waits there');
  });
});

describe('an app that is asked whether it is there', () => {
  it('is restarted when three pings in a row have no answer, and the reason is kept', async () => {
    await using bench = await running({}, undefined, LONG_BACKOFF);
    const first = await bench.status(ID);
    bench.sockets.answer = never;
    const hung = await bench.reach(ID, 'backoff');
    assert.match(hung.reason ?? '', /^it hangs: 3 pings in a row had no answer, the last one in /);
    assert.equal(alive(first.pid ?? 0), false);
    bench.sockets.answer = async () => 'pong';
    const again = await bench.reach(ID, 'running');
    assert.notEqual(again.pid, first.pid);
    assert.equal(again.reason, undefined);
    assert.match(again.lastEnd?.reason ?? '', /^it hangs: 3 pings/);
    assert.equal(again.lastEnd?.count, 1);
    assert.ok((again.lastEnd?.at ?? 0) >= first.since);
    assert.ok(
      bench.host.logged.some(({ level, message }) => level === 'warn' && /waits after a crash: it hangs/.test(message)),
    );
  });

  it('is quarantined when it hangs again and again', async () => {
    await using bench = await running();
    bench.sockets.answer = never;
    const status = await bench.reach(ID, 'quarantined');
    assert.match(status.reason ?? '', /^3 crashes in a short time; the last one: it hangs/);
    assert.equal(status.lastEnd?.count, 3);
  });

  const LIFE: readonly (readonly [what: string, answer: () => Promise<unknown>])[] = [
    ['an answer', async () => ({})],
    [
      'the error that there is no such method',
      async () => {
        throw new CoreError('APP_ERROR', { app: ID, function: 'ping', reason: 'no method', error: { code: -32601 } });
      },
    ],
    [
      'nobody to ask, for its session has just gone',
      async () => {
        throw new CoreError('APP_NOT_RUNNING', { app: ID, reason: 'it has no session' });
      },
    ],
  ];
  for (const [what, answer] of LIFE)
    it(`runs on with ${what}`, async () => {
      await using bench = await running();
      const { pid } = await bench.status(ID);
      bench.sockets.asked.length = 0;
      bench.sockets.answer = answer;
      await eventually(() => bench.sockets.asked.length >= 6, 'six pings');
      const status = await bench.status(ID);
      assert.deepEqual([status.state, status.pid, status.lastEnd], ['running', pid, undefined]);
    });

  it('is asked by a request like any other, that does not wait for a place among calls', async () => {
    await using bench = await running();
    const [asked] = await eventually(
      () => (bench.sockets.asked.length > 0 ? bench.sockets.asked : undefined),
      'a ping',
    );
    assert.equal(asked?.method, 'ping');
    assert.deepEqual(asked?.params, {});
    assert.equal(asked?.urgent, true);
  });

  it('lives as long as one of its sessions answers', async () => {
    const twice = `${CONNECT}${CONNECT}`;
    await using bench = await running({}, twice);
    const { pid } = await bench.status(ID);
    const deaf = await eventually(() => {
      const sessions = new Set(bench.sockets.asked.map(({ session }) => session));
      return sessions.size >= 2 ? [...sessions][0] : undefined;
    }, 'two sessions');
    bench.sockets.answer = (call) => (call.session === deaf ? never() : Promise.resolve({}));
    const before = bench.sockets.asked.length;
    await eventually(() => bench.sockets.asked.length > before + 12, 'six rounds');
    assert.equal((await bench.status(ID)).pid, pid);
  });

  it('is not asked where it has no session by its own word, nor after it has stopped', async () => {
    await using bench = await running({ health: { kind: 'none' } });
    await turns(20);
    assert.equal(bench.sockets.asked.length, 0);
    await using other = await running();
    await other.apps.stop(ID);
    const { length } = other.sockets.asked;
    await turns(50);
    assert.equal(other.sockets.asked.length, length);
  });
});
