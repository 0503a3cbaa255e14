/** The guide for operators says every reason that `update why` can give, in the words of the rules. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { UPDATE_STATES } from '@device-core/plugin-api/inside/services/updates';
import { leakCheck } from '@device-core/plugin-api/testing';
import { RULES } from '../../../plugins/life/updater/policy.ts';
import { after as next, STEPS } from '../../../plugins/life/updater/states.ts';

after(leakCheck());

const IMAGES = readFileSync(join(import.meta.dirname, '../../../docs/images.md'), 'utf8');
const GUIDE = readFileSync(join(import.meta.dirname, '../../../docs/guides/updates.md'), 'utf8');
/** By hand, a rollback is one of `good` alone. */
const ANYTIME: readonly string[] = ['idle', 'available', 'staged', 'waiting', 'rolled-back', 'failed'];
const rows = GUIDE.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

describe('the reference of images', () => {
  it('has every state with those that follow', () => {
    const told = new Map(
      IMAGES.split('\n').flatMap((line) => {
        const [, state, , following = ''] = line.split('|').map((cell) => cell.trim());
        const name = /^`([a-z-]+)`$/.exec(state ?? '')?.[1];
        return UPDATE_STATES.some((one) => one === name)
          ? [[name!, [...following.matchAll(/`([a-z-]+)`/g)].map(([, one]) => one!).sort()] as const]
          : [];
      }),
    );
    const known = UPDATE_STATES.map((state) => {
      // What runs on trial is on probation, and another slot may run, whatever was known before.
      const steps = STEPS.filter((step) => step !== 'started' && (step !== 'bad' || !ANYTIME.includes(state)));
      const own = [...steps, ...(state === 'activating' ? ['started' as const] : [])];
      const following = own.flatMap((step) => next({ state }, step)?.state ?? []);
      return [state, [...new Set(following)].filter((one) => one !== state).sort()] as const;
    });
    assert.deepEqual(Object.fromEntries(told), Object.fromEntries(known));
  });
});

describe('the guide to updates', () => {
  it('has the rules in their order, with what they mean and what to do', () => {
    const told = rows
      .filter((cells) => cells.length === 6)
      .map(([, name, sentence, binds, todo]) => ({ name, sentence, binds, todo }));
    assert.deepEqual(
      told,
      RULES.map(({ name, sentence, binds, passes, todo }) => ({
        name: `\`${name}\``,
        sentence,
        binds: binds === 'automatic' ? 'the device alone' : passes ? 'everybody; `--anyway` passes' : 'everybody',
        todo,
      })),
    );
  });

  it('has every state', () => {
    const told = rows.filter((cells) => cells.length === 4).map(([, name]) => name);
    for (const state of UPDATE_STATES) assert.ok(told.includes(`\`${state}\``), state);
  });
});
