/** What every provider of the service `app-supervisor` must do, whatever runs the guests below it. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { CoreError, maybe } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import {
  type AppSupervisor,
  ENFORCED,
  type Enforced,
  type GuestRun,
  type OutputLine,
} from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppLaunch } from '@device-core/plugin-api/inside/services/identity';
import { eventually } from '../fixtures/eventually.ts';
import type { FakeGuest } from '../fixtures/fake-supervisor.ts';
import { ownerOfRaced, racingScript, WITHOUT_PYTHON } from './raced-peer.ts';

/** What a guest does: as a program of the shell, and for a supervisor that runs none. */
export interface Behaviour {
  readonly script: string;
  readonly play: (guest: FakeGuest) => void;
}

const SPEAK: Behaviour = {
  script: 'echo one; echo two >&2; exit 3',
  play(guest) {
    guest.print('stdout', 'one');
    guest.print('stderr', 'two');
    guest.exit(3);
  },
};
const STAY: Behaviour = { script: 'echo up; exec sleep 1000', play: (guest) => guest.print('stdout', 'up') };
const STUBBORN: Behaviour = {
  script: "trap '' TERM; echo up; while :; do sleep 1; done",
  play(guest) {
    guest.print('stdout', 'up');
    guest.ignore();
  },
};
const FAMILY: Behaviour = {
  script: "trap '' TERM; (setsid sleep 1000 > /dev/null 2>&1 &); sleep 1000 & echo up; wait",
  play(guest) {
    guest.print('stdout', 'up');
    guest.takes({ tasks: 3 });
    guest.ignore();
  },
};
const DIE: Behaviour = { script: 'echo up; kill -9 $$', play: (guest) => guest.die('SIGKILL') };
const TELL: Behaviour = {
  script: 'wc -c < "$CREDENTIALS_DIRECTORY/token"; env | grep -c "$(cat "$CREDENTIALS_DIRECTORY/token")"; exit 0',
  play(guest) {
    guest.print('stdout', String(guest.token.length));
    guest.print('stdout', '0');
    guest.exit(0);
  },
};
const LEAK: Behaviour = {
  script: 'echo "mine: $(cat "$CREDENTIALS_DIRECTORY/token")"; exit 0',
  play(guest) {
    guest.print('stdout', `mine: ${guest.token}`);
    guest.exit(0);
  },
};
const KEEP: Behaviour = {
  script: 'umask 077; cat "$HOME/told"; echo mine >>"$HOME/note"; exit 0',
  play(guest) {
    const at = (name: string) => join(guest.spec.data ?? '', name);
    if (existsSync(at('told'))) guest.print('stdout', readFileSync(at('told'), 'utf8').trim());
    mkdirSync(at(''), { recursive: true });
    appendFileSync(at('note'), 'mine\n');
    guest.exit(0);
  },
};
const MISSING: Behaviour = { script: '', play: (guest) => guest.fail('it is not there') };
export const BEHAVIOURS: readonly Behaviour[] = [SPEAK, STAY, STUBBORN, FAMILY, DIE, TELL, LEAK, KEEP, MISSING];

export interface SupervisorUnderTest extends AsyncDisposable {
  readonly supervisor: AppSupervisor;
  /** Runs `/bin/sh -c <script>`; its own data folder is there or is made by prepare(). */
  spec(name: string, script: string): Promise<AppSpec>;
  /** What identity was told, the newest last; undefined where the guests are known by their users. */
  readonly launched?: readonly AppLaunch[];
  /** Where both streams of a guest come as one: as stdout. */
  readonly oneStream?: boolean;
  /** Processes that it has in name alone. */
  readonly pretends?: true;
  /** Something that this one cannot enforce here. */
  readonly impossible?: Readonly<Partial<Record<Enforced, 'kernel'>>>;
}

const TOKEN = 'token-of-the-guest-0123456789';

async function refusal(work: Promise<unknown>): Promise<CoreError> {
  const thrown = await work.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof CoreError, String(thrown));
  return thrown;
}

/** Declares the tests; call it inside a `describe`. Each opens a supervisor of its own. */
export function appSupervisorContract(open: () => Promise<SupervisorUnderTest>): void {
  const begin = async (target: SupervisorUnderTest, { script }: Behaviour, name = 'demo'): Promise<GuestRun> => {
    const spec = await target.spec(name, script);
    await target.supervisor.prepare(spec);
    return target.supervisor.start(spec, { token: TOKEN });
  };
  const said = (target: SupervisorUnderTest, run: GuestRun, text: string): Promise<OutputLine> =>
    eventually(
      async () =>
        (await target.supervisor.output(run.name, 100)).find((line) => line.run === run.run && line.text === text),
      `"${text}" of ${run.run}`,
    );

  it('starts a guest, and tells identity of it before anybody else hears of it', async () => {
    await using target = await open();
    const run = await begin(target, STAY);
    assert.equal(run.name, 'demo');
    assert.ok(run.leader.pid > 0 && run.leader.startTime !== '', JSON.stringify(run));
    if (target.launched) assert.equal(target.launched.at(-1)?.app, 'com.example.demo');
    await said(target, run, 'up');
    const known = await eventually(async () => {
      const now = await target.supervisor.ready(run.run);
      return now.pid === undefined ? undefined : now;
    }, 'its program');
    assert.deepEqual([known.run, known.leader], [run.run, run.leader]);
    const { memory, cpuMs, tasks } = await target.supervisor.usage(run.run);
    assert.ok(memory > 0 && cpuMs >= 0 && tasks >= 1, JSON.stringify({ memory, cpuMs, tasks }));
    assert.deepEqual(await target.supervisor.stop(run.run, 0), []);
  });

  const ENDS: readonly (readonly [what: string, behaviour: Behaviour, end: object])[] = [
    ['an exit code', SPEAK, { code: 3, cause: 'exit' }],
    ['a signal', DIE, { signal: 'SIGKILL', cause: 'signal' }],
  ];
  for (const [what, behaviour, end] of ENDS)
    it(`tells ${what} of a guest that ended by itself`, async () => {
      await using target = await open();
      const { run } = await begin(target, behaviour);
      assert.deepEqual(await target.supervisor.ended(run), end);
      assert.deepEqual(await target.supervisor.stop(run, 1_000), [], 'there is nothing to stop');
      assert.deepEqual(await target.supervisor.ended(run), end, 'it ended once');
    });

  it('tells of a program that cannot be executed, with the reason', async () => {
    await using target = await open();
    const spec = await target.spec('demo', MISSING.script);
    const { run } = await target.supervisor.start({ ...spec, program: '/nowhere/at/all' }, { token: TOKEN });
    const { cause, reason } = await target.supervisor.ended(run);
    assert.equal(cause, 'start');
    assert.match(reason ?? '', /\w/);
  });

  it('asks a guest to end, and it ends in peace', async () => {
    await using target = await open();
    const run = await begin(target, STAY);
    await said(target, run, 'up');
    assert.deepEqual(await target.supervisor.stop(run.run, 60_000), []);
    assert.equal((await target.supervisor.ended(run.run)).cause, 'stopped');
  });

  for (const [what, behaviour] of [
    ['that does not listen', STUBBORN],
    ['with processes that left it', FAMILY],
  ] as const)
    it(`ends a guest ${what}, and leaves nothing of it`, async () => {
      await using target = await open();
      const run = await begin(target, behaviour);
      await said(target, run, 'up');
      assert.deepEqual(await target.supervisor.stop(run.run, 50), []);
      assert.equal((await target.supervisor.ended(run.run)).cause, 'stopped');
      assert.deepEqual(await target.supervisor.former(), []);
    });

  it('counts all processes of a guest', async () => {
    await using target = await open();
    const run = await begin(target, FAMILY);
    await eventually(async () => (await target.supervisor.usage(run.run)).tasks >= 3 || undefined, 'three processes');
    await target.supervisor.stop(run.run, 0);
  });

  it('keeps what a guest wrote, by run and by stream, the newest last', async () => {
    await using target = await open();
    const heard: string[] = [];
    const listener = target.supervisor.onOutput('demo', ({ text }) => void heard.push(text));
    const first = await begin(target, SPEAK);
    await target.supervisor.ended(first.run);
    await eventually(() => heard.length === 2, 'both lines were heard');
    listener[Symbol.dispose]();
    await target.supervisor.write('demo', { level: 'error', text: 'between', fields: { oven: 1 } });
    const second = await begin(target, SPEAK);
    assert.notEqual(second.run, first.run);
    await target.supervisor.ended(second.run);
    // A journal takes its time: a line is there when it is read, and the lines of both runs were written.
    const lines = await eventually(async () => {
      const found = await target.supervisor.output('demo', 50);
      const of = ({ run }: GuestRun) => found.filter((line) => line.run === run).length;
      assert.ok(found.length >= 5 && of(first) >= 2 && of(second) >= 2, JSON.stringify(found));
      return found;
    }, 'the lines of both runs are kept');
    const of = (run: string | undefined) =>
      lines.filter((line) => line.run === run).map(({ from, level, text, fields }) => ({ from, level, text, fields }));
    const other = target.oneStream ? { from: 'stdout', level: 'info' } : { from: 'stderr', level: 'warn' };
    const spoken = [
      { ...other, text: 'two', fields: undefined },
      { from: 'stdout', level: 'info', text: 'one', fields: undefined },
    ];
    const sorted = (run: string) => of(run).toSorted((a, b) => (a.text > b.text ? -1 : 1));
    assert.deepEqual([sorted(first.run), sorted(second.run)], [spoken, spoken]);
    assert.deepEqual(of(undefined), [{ from: 'log', level: 'error', text: 'between', fields: { oven: 1 } }]);
    assert.deepEqual(
      (await target.supervisor.output('demo', 2)).map(({ run }) => run),
      [second.run, second.run],
    );
    assert.equal(heard.length, 2, 'who has gone hears nothing more');
    assert.deepEqual(await target.supervisor.output('other', 5), []);
  });

  it('has a connection of a child that is gone known by its user, or by nothing', async (t) => {
    await using target = await open();
    if (target.pretends) return t.skip('its guests are no processes');
    if (WITHOUT_PYTHON) return t.skip(WITHOUT_PYTHON);
    const spec = await target.spec('demo', racingScript(await target.spec('demo', '')));
    let run = '';
    const owner = await ownerOfRaced(spec, async () => {
      await target.supervisor.prepare(spec);
      const guest = await target.supervisor.start(spec, { token: TOKEN });
      run = guest.run;
      // Its walls stand: they are made of what this process writes.
      await eventually(async () => (await target.supervisor.ready(run)).pid, 'its program');
      return target.launched?.at(-1) ?? maybe({ pid: guest.leader.pid, uid: spec.uid });
    });
    const uid = target.launched ? target.launched.at(-1)?.uid : spec.uid;
    const known = { kind: 'app', id: spec.id, ended: false } as const;
    // Neither the operator nor anybody else, now or later.
    assert.deepEqual(owner, uid === undefined ? { kind: 'unknown', why: 'ended' } : known);
    await target.supervisor.stop(run, 0);
  });

  it('hands the token over as a file, not in the environment', async () => {
    await using target = await open();
    const run = await begin(target, TELL);
    await target.supervisor.ended(run.run);
    const lines = (await target.supervisor.output('demo', 10)).map(({ text }) => text.trim());
    assert.deepEqual(lines, [String(TOKEN.length), '0']);
  });

  it('keeps the token out of what it tells', async () => {
    await using target = await open();
    const heard: OutputLine[] = [];
    using _ = target.supervisor.onOutput('demo', (line) => void heard.push(line));
    const run = await begin(target, LEAK);
    await target.supervisor.ended(run.run);
    await eventually(() => heard.length > 0, 'its line');
    const all = JSON.stringify([heard, await target.supervisor.output('demo', 10)]);
    assert.ok(all.includes('mine: ') && !all.includes(TOKEN), all);
  });

  it('says of every kind what is enforced, and why nothing better', async () => {
    await using target = await open();
    const { enforced, reasons } = await target.supervisor.enforcement();
    assert.deepEqual(Object.keys(enforced).toSorted(), [...ENFORCED].toSorted());
    for (const kind of ENFORCED) if (enforced[kind] !== 'kernel') assert.ok(reasons[kind], `a reason for ${kind}`);
  });

  it('starts nothing below what is demanded, and names it', async () => {
    await using target = await open();
    const { impossible } = target;
    if (!impossible) return;
    const spec = await target.spec('demo', STAY.script);
    const { code, message } = await refusal(target.supervisor.start(spec, { token: TOKEN, demand: impossible }));
    assert.equal(code, 'SANDBOX_UNAVAILABLE');
    for (const kind of Object.keys(impossible)) assert.match(message, new RegExp(`\\b${kind}\\b`));
  });

  it('refuses a specification that cannot be, and runs that it does not know', async () => {
    await using target = await open();
    const spec = await target.spec('demo', STAY.script);
    const bad = { ...spec, cwd: '../elsewhere' };
    assert.equal((await refusal(target.supervisor.prepare(bad))).code, 'PARAMS_INVALID');
    assert.equal((await refusal(target.supervisor.start(bad, { token: TOKEN }))).code, 'PARAMS_INVALID');
    for (const asked of [
      target.supervisor.ended('nobody.1'),
      target.supervisor.ready('nobody.1'),
      target.supervisor.stop('nobody.1', 0),
      target.supervisor.usage('nobody.1'),
    ])
      assert.equal((await refusal(asked)).code, 'PARAMS_INVALID');
  });

  it('gives the data of a guest to the Core until its next start, and to the guest again then', async () => {
    await using target = await open();
    const { id, data = '' } = await target.spec('demo', KEEP.script);
    const first = await begin(target, KEEP);
    await target.supervisor.ended(first.run);
    for (const app of [id, id, 'com.example.nobody']) await target.supervisor.release(app);
    assert.equal(readFileSync(join(data, 'note'), 'utf8'), 'mine\n');
    writeFileSync(join(data, 'told'), 'yours\n');
    const second = await begin(target, KEEP);
    await said(target, second, 'yours');
    await target.supervisor.ended(second.run);
    await target.supervisor.release(id);
    assert.equal(readFileSync(join(data, 'note'), 'utf8'), 'mine\nmine\n');
    await target.supervisor.sweep();
  });

  it('forgets a guest: its run ends, its run folder goes, its data stays', async () => {
    await using target = await open();
    const spec = await target.spec('demo', STAY.script);
    const { run } = await begin(target, STAY);
    const ended = target.supervisor.ended(run);
    await target.supervisor.forget('demo');
    assert.equal((await ended).cause, 'stopped');
    assert.deepEqual(
      [spec.run, spec.data].map((folder) => existsSync(folder ?? '')),
      [false, true],
    );
    await target.supervisor.forget('demo');
  });
}
