/** A reset or a restore that is ordered, killed at any step, and done by the next start. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  finishPending,
  orderPending,
  pendingAct,
  pendingSteps,
  remainsOf,
} from '@device-core/plugin-api/inside/pending-state';
import { leakCheck } from '@device-core/plugin-api/testing';
import { FULL } from '../../fixtures/runs.ts';
import { filesOf, lay, NO_STATE, SECRET, STATE } from './state.ts';

after(leakCheck());

/** Root may remove everything: so it is another user meanwhile, to whom all of it belongs. */
function asSomebody<T>(root: string, act: () => T): T {
  if (process.getuid?.() !== 0) return act();
  for (const name of ['', ...readdirSync(root, { recursive: true, encoding: 'utf8' })])
    chownSync(join(root, name), 65534, 65534);
  process.seteuid!(65534);
  try {
    return act();
  } finally {
    process.seteuid!(0);
  }
}

describe('orders about the state', () => {
  const cases = [
    ['reset', {}],
    ['restore', { 'config.yaml': 'new: 1\n', 'apps/a/data/x': 'y', 'audio/state.json': '{}' }],
  ] as const;
  for (const [act, files] of cases)
    it(`a ${act} that is killed at any step goes on at the next start, and leaves no half`, () => {
      const wanted = { ...files, 'cache/compile/x': 'code', 'update/history.jsonl': 'history' };
      for (let kill = 0; ; kill += FULL ? 1 : 4) {
        const state = mkdtempSync(join(tmpdir(), 'pend-'));
        lay(state, { ...STATE, ...NO_STATE });
        if (act === 'restore') lay(join(state, 'pending/state'), files);
        orderPending(state, act);
        const steps = pendingSteps(state);
        let over = false;
        for (let at = 0; at <= kill && !over; at += 1) over = steps.next().done === true;
        // What is left now is what a kill leaves; the second start is killed, too, and the third goes through.
        for (const [at] of [...pendingSteps(state)].slice(0, 1).entries()) assert.ok(at >= 0);
        finishPending(state);
        assert.deepEqual(filesOf(state), wanted, `killed at step ${kill}`);
        assert.equal(pendingAct(state), undefined);
        rmSync(state, { recursive: true, force: true });
        if (over) return;
      }
    });

  it('half of a restore that was never ordered is swept, and the state stays', () => {
    const state = mkdtempSync(join(tmpdir(), 'pend-'));
    lay(state, STATE);
    lay(join(state, 'pending/state'), { 'config.yaml': 'new: 1\n' });
    assert.equal(finishPending(state), undefined);
    assert.deepEqual(filesOf(state), STATE);
    rmSync(state, { recursive: true, force: true });
  });

  for (const act of ['reset', 'restore'] as const)
    it(`a ${act} ends although a folder belongs to another, and nothing is thrown away twice`, () => {
      const state = mkdtempSync(join(tmpdir(), 'pend-'));
      lay(state, { ...STATE, 'apps/com.example.tea/data/x': 'guest', 'apps/com.example.zoo/config.yaml': SECRET });
      if (act === 'restore') lay(join(state, 'pending/state'), { 'apps/com.example.tea/data/x': 'new' });
      orderPending(state, act);
      const guest = join(state, 'apps/com.example.tea/data');
      const locked = asSomebody(state, () => {
        chmodSync(guest, 0);
        return finishPending(state);
      });
      assert.equal(locked, act);
      assert.equal(pendingAct(state), undefined, 'it goes on for ever');
      const remains = remainsOf(state);
      assert.equal(remains.length, 1);
      const { path, reason } = remains[0]!;
      assert.match(path, /^remains\/of-[^/]+\/apps\/com\.example\.tea\/data$/);
      assert.equal(reason, 'EACCES');
      chmodSync(join(state, path), 0o700);
      const found = Object.keys(filesOf(state)).filter((name) => !name.startsWith('remains/'));
      assert.deepEqual(found, act === 'restore' ? ['apps/com.example.tea/data/x'] : []);
      assert.ok(!JSON.stringify(filesOf(state)).includes(SECRET), 'what could be removed is still there');
      lay(state, { 'app-store/new': 'x' });
      assert.equal(finishPending(state), undefined);
      assert.ok(existsSync(join(state, 'app-store/new')));
      rmSync(join(state, 'remains'), { recursive: true });
      assert.deepEqual(remainsOf(state), []);
      rmSync(state, { recursive: true, force: true });
    });

  it('a start that comes back to a wipe leaves alone what a Core made since', () => {
    const state = mkdtempSync(join(tmpdir(), 'pend-'));
    lay(state, STATE);
    orderPending(state, 'reset');
    const steps = pendingSteps(state);
    while (!String(steps.next().value).startsWith('apps is gone'));
    steps.next();
    lay(state, { 'app-store/new': 'x', 'apps/new/config.yaml': 'x' });
    finishPending(state);
    assert.deepEqual(Object.keys(filesOf(state)), ['app-store/new', 'apps/new/config.yaml']);
    rmSync(state, { recursive: true, force: true });
  });
});
