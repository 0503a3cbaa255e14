/** Kills at any moment, and the power that goes at each write and sync: nothing that was acknowledged is lost, nothing is unreadable. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { leakCheck } from '@device-core/plugin-api/testing';
import { systemClock } from '../../../kernel/clock.ts';
import { Departures } from '../../../plugins/state/ledger/departures.ts';
import { openDatabase } from '../../../plugins/state/outbox/database.ts';
import { Store } from '../../../plugins/state/outbox/store.ts';
import { FULL } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';
import { NO_TRACE, TracedRun } from '../../fixtures/traced-disk.ts';
import { temporaryFolder } from './fixture.ts';

after(leakCheck());

const OUTBOX = join(import.meta.dirname, '../../fixtures/outbox-subject.ts');
const LEDGER = join(import.meta.dirname, '../../fixtures/ledger-subject.ts');

/** Numbers that are the same in each run. */
function seeded(seed = 16): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Found {
  readonly names: ReadonlySet<string>;
  readonly damage: string | undefined;
}

async function queueIn(root: string): Promise<Found> {
  const file = join(root, 'telemetry.sqlite');
  let store: Store | undefined;
  const { database, damage } = await openDatabase(file, (opened) => {
    assert.deepEqual(Object.values(opened.prepare('PRAGMA integrity_check').get()!), ['ok']);
    store = new Store(file, opened, systemClock.steady());
  });
  try {
    const bodies = [...store!.oldest()].map(({ body }) => body.slice(0, body.lastIndexOf('.')));
    assert.equal(new Set(bodies).size, bodies.length, 'nothing is there twice');
    return { names: new Set(bodies), damage };
  } finally {
    database.close();
  }
}

async function ledgerIn(root: string): Promise<Found> {
  await using rest = part();
  const { scope, log, logged } = rest;
  const book = new Departures({ scope, log, folder: root, keep: 100_000, flushMs: 1_000, former: {} });
  await book.load();
  const lines = await book.list({ limit: 100_000 });
  const damage = logged.find(({ level }) => level === 'error')?.message;
  return { names: new Set(lines.map((line) => `${line.part} ${line.id}`)), damage };
}

/** What was acknowledged and not handed out. */
function owed(marks: readonly string[]): readonly string[] {
  const gone = new Set(marks.filter((mark) => mark.startsWith('-')).map((mark) => mark.slice(1)));
  return marks.filter((mark) => mark.startsWith('+') && !gone.has(mark.slice(1))).map((mark) => mark.slice(1));
}

interface Case {
  readonly title: string;
  readonly program: string;
  readonly more: readonly string[];
  /** Of the recorded run. */
  readonly rounds: string;
  readonly look: (root: string) => Promise<Found>;
  /** The power cut, too, takes nothing that was acknowledged. */
  readonly sure: boolean;
}

const CASES: readonly Case[] = [
  { title: 'a queue (normal)', program: OUTBOX, more: ['normal'], rounds: '16', look: queueIn, sure: false },
  { title: 'a queue (full)', program: OUTBOX, more: ['full'], rounds: '16', look: queueIn, sure: true },
  { title: 'the ledger', program: LEDGER, more: [], rounds: '70', look: ledgerIn, sure: true },
];

for (const { title, program, more, rounds, look, sure } of CASES) {
  describe(title, () => {
    it('is whole whenever the power goes', { skip: NO_TRACE }, async (context) => {
      using folder = temporaryFolder();
      const root = join(folder.path, 'traced');
      const run = TracedRun.of(root, program, ...more, rounds);
      const [every, random] = [FULL ? 1 : Math.ceil(run.calls / 4), seeded()];
      assert.ok(run.calls >= 200, `${run.calls} writes and syncs`);
      let [states, lost] = [0, 0];
      for (const state of run.states(every, random)) {
        const place = join(folder.path, 'state');
        TracedRun.lay(place, state);
        const { names, damage } = await look(place);
        assert.equal(damage, undefined, state.title);
        const missing = owed(state.marks).filter((one) => !names.has(one));
        if (sure || state.killed) assert.deepEqual(missing, [], state.title);
        lost += missing.length;
        states += 1;
      }
      // A disk that forgets is one that the test can tell.
      if (!sure) assert.ok(lost > 0, 'a power cut takes what was not synced');
      context.diagnostic(`${run.calls} writes and syncs, ${states} states`);
    });

    it('loses nothing to kill -9', async (context) => {
      using folder = temporaryFolder();
      const [root, random] = [join(folder.path, 'killed'), seeded(7)];
      const marks: string[] = [];
      const kills = FULL ? 200 : 1;
      for (let kill = 0; kill < kills; kill++) {
        const child = spawn(process.execPath, [program, root, ...more, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
        let said = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          said += text;
        });
        await once(child.stdout, 'data'); // it is at work
        await later(random() * 60);
        child.kill('SIGKILL');
        await once(child, 'close');
        // What was said last may be half a line; it was not acknowledged to anybody.
        marks.push(...said.split('\n').slice(0, -1));
        const { names, damage } = await look(root);
        assert.equal(damage, undefined);
        for (const one of owed(marks)) assert.ok(names.has(one), `${one} is lost after ${kill + 1} kills`);
      }
      context.diagnostic(`${kills} kills, ${owed(marks).length} wait of ${marks.length} marks`);
    });
  });
}
