/** The page of an operation: what is wrong with it is said when the operation is added. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { PageView } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';
import { operation, start } from './helpers.ts';

after(leakCheck());

const PAGE: PageView = {
  title: { en: 'Chimes', de: 'Glocken' },
  rows: 'chimes',
  columns: ['name', ['Rang', '{at:ago}', 'never']],
  levels: { loud: 'warn' },
  marks: [{ text: 'new', level: 'okay', only: { rung: [null, 0, '$any'] } }],
  groups: [['Loud', { loud: [true] }]],
  tables: [{ title: 'Bells', rows: 'bells', columns: ['id'] }],
  detail: 'test.one',
  edit: { operation: 'test.set', member: 'value', schema: 'schema' },
  actions: [{ operation: 'test.ring', label: 'Ring {name}', fields: [{ name: 'text', kind: 'secret' }], ask: {} }],
  choice: ['why', 'loud'],
};
const ACTION = { operation: 'test.ring', label: 'Ring' };
const GET = { method: 'GET', path: '/x' } as const;
const added = (page: unknown) => operation({ page, rest: GET } as never);

const WRONG: readonly (readonly [title: string, more: object, said: RegExp])[] = [
  ['without columns', { columns: undefined }, /whose columns is a list of 1 to 32/],
  ['with too many columns', { columns: Array.from({ length: 33 }, () => 'a') }, /columns is a list of 1 to 32/],
  ['with a title alone as a column', { columns: [['Rang']] }, /each is a member, or a title and templates/],
  ['with a format that no page has', { columns: [['Rang', '{at:soon}']] }, /columns is /],
  ['with such a format in one language', { lead: { en: '{at:ago}', fr: '{at:soon}' } }, /\{at:soon\} has one of/],
  ['with a text without English', { title: { de: 'Glocken' } }, /title is a text, or one for each language/],
  ['with a text of another language', { title: { en: 'a', it: 'b' } }, /title is texts for en, de and fr/],
  ['that is long', { lead: 'a'.repeat(1_001) }, /lead is a text/],
  ['that is long in sum', { notes: Array.from({ length: 20 }, () => 'a'.repeat(900)) }, /at most 16384 characters/],
  ['with a member of another name', { colums: ['name'] }, /an object without colums/],
  ['with a level of no colour', { levels: { loud: 'red' } }, /levels is levels by word/],
  ['with an action of no operation', { actions: [{ label: 'Ring' }] }, /operation is the name of an operation/],
  ['with an action without a label', { actions: [{ operation: 'test.ring' }] }, /label is a text/],
  ['with a script in an action', { actions: [{ ...ACTION, onClick: 'alert(1)' }] }, /an object without onClick/],
  ['with a rule of no list', { actions: [{ ...ACTION, only: { name: 'a' } }] }, /only is lists of values by member/],
  ['with a field of another kind', { actions: [{ ...ACTION, fields: [{ name: 'a', kind: 'file' }] }] }, /kind is one/],
];

describe('the page of an operation', () => {
  it('is added as it is', async () => {
    await using fixture = await start();
    fixture.table.add(added(PAGE));
    const [found] = (await fixture.table.list()).filter(({ name }) => name === 'test.echo');
    assert.deepEqual(found?.page, PAGE);
  });

  for (const [title, more, said] of WRONG)
    it(`${title} is refused, with the member`, async () => {
      await using fixture = await start();
      assert.throws(() => fixture.table.add(added({ ...PAGE, ...more })), {
        code: 'OPERATION_CONFLICT',
        message: said,
      });
    });

  for (const rest of [undefined, { method: 'POST', path: '/x' }])
    it(`is refused beside ${rest?.method ?? 'no REST'}, for a page asks only what reads`, async () => {
      await using fixture = await start();
      const refused = { code: 'OPERATION_CONFLICT', message: /without REST GET/ };
      assert.throws(() => fixture.table.add(operation({ page: PAGE, rest } as never)), refused);
    });

  it('of any form is added, or refused with an error of the table', async () => {
    await using fixture = await start();
    const members = fc.constantFrom(...Object.keys(PAGE), 'lead', 'params', 'after', 'key', 'head', 'notes', 'empty');
    const value = fc.oneof(fc.anything(), ANY_CHARACTER, fc.array(fc.anything()));
    await fc.assert(
      fc.asyncProperty(members, value, async (member, wrong) => {
        try {
          fixture.table.add(added({ ...PAGE, [member]: wrong }))[Symbol.dispose]();
        } catch (thrown) {
          assert.ok(thrown instanceof CoreError, `${member}: ${String(thrown)}`);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
