/** What a plugin without types may add by mistake: refused with the member, the operation and the plugin. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { operation, start } from './helpers.ts';

after(leakCheck());

const REST = { method: 'GET', path: '/x' };
const GONE = Symbol('the member is left out');

/** Member, its wrong value, and what is said of it. */
const WRONG: readonly (readonly [member: string, value: unknown, said: RegExp])[] = [
  ['name', GONE, /its name is no text/],
  ['name', 7, /its name is no text/],
  ['name', null, /its name is no text/],
  ['name', 'one', /a name is dotted camel case words/],
  ['summary', GONE, /summary is missing, and has to be a text/],
  ['summary', '', /summary is /],
  ['params', GONE, /params is missing, and has to be a schema/],
  ['params', null, /params is null, and has to be a schema/],
  ['params', [], /params is a list/],
  ['params', 'object', /params is object, and has to be a schema/],
  ['result', GONE, /result is missing/],
  ['result', 1, /result is 1/],
  ['errors', GONE, /errors is missing, and has to be a list: \[\] where run\(\) has no errors/],
  ['errors', null, /errors is null/],
  ['errors', 'TIMEOUT', /errors is TIMEOUT, and has to be a list/],
  ['errors', {}, /errors is of type object, and has to be a list/],
  ['errors', ['TIMEOUT', 'NO_SUCH_CODE'], /errors is a list, .* and NO_SUCH_CODE is neither/],
  ['errors', ['toString'], /toString is neither/],
  ['errors', [null], /null is neither/],
  ['errors', [7], /7 is neither/],
  ['errors', [{ code: 'plugin.other.X' }], /plugin\.other\.X/],
  ['run', GONE, /run is missing, and has to be a function/],
  ['run', 'run', /run is run, and has to be a function/],
  ['rest', 'GET /x', /rest is GET \/x, and has to be an object with method and path/],
  ['rest', {}, /an object whose method is missing/],
  ['rest', { ...REST, method: 'PATCH' }, /method is PATCH, and has to be one of GET, POST, PUT, DELETE/],
  ['rest', { ...REST, method: 'get' }, /method is get/],
  ['rest', { method: 'GET' }, /path is missing/],
  ['rest', { ...REST, path: 7 }, /path is 7/],
  ['rest', { ...REST, path: 'x' }, /no path of plain segments/],
  ['rest', { ...REST, status: '200' }, /status is 200/],
  ['rest', { ...REST, bodyLimit: -1 }, /bodyLimit is -1/],
  ['rest', { ...REST, failure: true }, /failure is true/],
  ['rest', { ...REST, sse: 'yes' }, /sse is yes/],
  ['capability', 7, /capability is 7/],
  ['capability', 'bridges.sip', /there is no capability bridges\.sip/],
  ['anonymous', 'no', /anonymous is no, and has to be true or false/],
  ['viewers', 1, /viewers is 1/],
  ['rpc', null, /rpc is null/],
  ['timeoutMs', '5000', /timeoutMs is 5000, and has to be a whole number from 1/],
  ['timeoutMs', Number.NaN, /timeoutMs is NaN/],
  ['timeoutMs', 0, /timeoutMs is 0/],
  ['timeoutMs', Number.POSITIVE_INFINITY, /timeoutMs is Infinity/],
  ['keepsDeadline', 'true', /keepsDeadline is true, and has to be true or false/],
  ['sensitive', true, /sensitive is true, and has to be an object with the text act/],
  ['sensitive', {}, /sensitive is of type object/],
  ['cli', 'test echo', /cli is test echo, and has to be an object/],
  ['description', 1, /description is 1/],
  ['access', {}, /access is of type object/],
];

const withMember = (row: object, member: string, value: unknown): never => {
  const { [member]: _, ...rest } = row as Record<string, unknown>;
  return (value === GONE ? rest : { ...rest, [member]: value }) as never;
};

describe('an operation', () => {
  for (const [member, value, said] of WRONG)
    it(`with ${member} as ${value === GONE ? 'missing' : String(JSON.stringify(value))} is refused, and says so`, async () => {
      await using fixture = await start();
      const wrong = withMember(operation(), member, value);
      assert.throws(
        () => fixture.table.add(wrong),
        (thrown: unknown) => {
          assert.ok(thrown instanceof CoreError, String(thrown));
          assert.match(thrown.message, said);
          if (thrown.code === 'OPERATION_CONFLICT' && member !== 'name') assert.match(thrown.message, /test\.echo/);
          return true;
        },
      );
      assert.deepEqual(await fixture.table.list().then((all) => all.filter(({ name }) => name === 'test.echo')), []);
      fixture.table.add(operation());
    });

  for (const value of [undefined, null, 7, 'test.echo', [], () => undefined])
    it(`that is ${String(JSON.stringify(value))} is refused`, async () => {
      await using fixture = await start();
      const refused = { code: 'OPERATION_CONFLICT', message: /it is no object/ };
      assert.throws(() => fixture.table.add(value as never), refused);
      assert.throws(() => fixture.table.addStream(value as never), refused);
    });

  it('of any form is added, or refused with an error of the table', async () => {
    await using fixture = await start();
    const members = [
      'name',
      'summary',
      'params',
      'result',
      'errors',
      'rest',
      'run',
      'capability',
      'timeoutMs',
      'sensitive',
      'cli',
      'page',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...members), fc.anything(), async (member, value) => {
        try {
          fixture.table.add(withMember(operation(), member, value))[Symbol.dispose]();
        } catch (thrown) {
          assert.ok(thrown instanceof CoreError, `${member}: ${String(thrown)}`);
        }
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('a stream', () => {
  const good = {
    name: 'test.pipe',
    summary: 'bytes',
    direction: 'read',
    params: { type: 'object' },
    run: async () => undefined,
  } as StreamEndpoint<never>;
  for (const [member, value, said] of [
    ['direction', GONE, /direction is missing, and has to be one of read, write, duplex/],
    ['direction', 'both', /direction is both/],
    ['params', GONE, /params is missing/],
    ['run', GONE, /run is missing/],
    ['viewers', 'yes', /viewers is yes/],
  ] as const)
    it(`with a wrong ${member} is refused, and says so`, async () => {
      await using fixture = await start();
      assert.throws(() => fixture.table.addStream(withMember(good, member, value)), {
        code: 'OPERATION_CONFLICT',
        message: said,
      });
      fixture.table.addStream(good);
    });
});

it('names the plugin that adds it', async () => {
  const { checkOperation } = await import('../../../plugin-api/inside/operations/form.ts');
  const user = { plugin: 'guest' } as Parameters<typeof checkOperation>[1];
  const { errors: _, ...wrong } = operation({ name: 'guest.echo' }) as Operation;
  assert.throws(() => checkOperation(wrong, user), {
    message: /^cannot add operation guest\.echo: errors is missing.*\(plugin guest\)$/,
  });
});
