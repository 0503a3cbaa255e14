/** State in a form of former images: it goes when two good images write another one, and never before. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newRecord } from '@device-core/plugin-api/inside/boot-record';
import { leakCheck } from '@device-core/plugin-api/testing';
import { dropOldForms } from '../../../plugins/life/updater/old-forms.ts';
import type { Parts } from '../../../plugins/life/updater/parts.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeSlots } from '../../fixtures/fake-slots.ts';
import { Device, TWO_GOOD } from './device.ts';

after(leakCheck());

const { a, b } = TWO_GOOD.slots;
const forms = (writes: number) => ({ 'audio/state.json': { reads: [1, 2], writes } });

/** Files of both forms. */
function audioState({ root }: Device): { readonly old: string; readonly next: string } {
  const folder = join(root, 'var', 'audio');
  mkdirSync(folder, { recursive: true });
  const [old, next] = [join(folder, 'state.json'), join(folder, 'state.2.json')];
  writeFileSync(old, '{"format":1}');
  writeFileSync(next, '{"format":2}');
  return { old, next };
}

describe('state in an older form', () => {
  it('goes at a start with two good images that write the next one', async () => {
    await using device = new Device({}, { record: TWO_GOOD });
    Object.assign(device.slots.forms, { a: forms(2), b: forms(2) });
    const { old, next } = audioState(device);
    await device.start();
    await eventually(() => !existsSync(old), 'the old form to go');
    assert.ok(existsSync(next));
  });

  const onTrial = newRecord({ a, b: { ...b, state: 'trial' } });
  const isBad = newRecord({ a, b: { ...b, state: 'bad' } });
  const both = { a: forms(2), b: forms(2) };
  for (const [what, record, known, warnings] of [
    ['one of them writes it', TWO_GOOD, { a: forms(2), b: forms(1) }, 0],
    ['one of them does not say', TWO_GOOD, { a: forms(2), b: {} }, 0],
    ['nobody knows what one of them writes', TWO_GOOD, { a: forms(2) }, 0],
    ['the slots do not answer', TWO_GOOD, new Error('the bus is gone'), 1],
    ['the other slot is on trial', onTrial, both, 0],
    ['the other slot is bad', isBad, both, 0],
    ['the other slot is empty', newRecord({ a }), { a: forms(2) }, 0],
  ] as const)
    it(`stays when ${what}`, async () => {
      await using device = new Device();
      const { old, next } = audioState(device);
      const slots = new FakeSlots({ record });
      if (known instanceof Error) slots.failing.stateForms = known;
      else Object.assign(slots.forms, known);
      const warned: unknown[] = [];
      const parts = {
        device: { paths: { var: join(device.root, 'var') } },
        services: { slots },
        log: { warn: (...line: unknown[]) => warned.push(line), info: assert.fail },
      };
      await dropOldForms(parts as unknown as Parts, await slots.status());
      assert.deepEqual([existsSync(old), existsSync(next), warned.length], [true, true, warnings]);
    });
});
