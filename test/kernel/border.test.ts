/** The border of guests, without a guest: access, members, and who acts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ACTORS, contractIds, contractOf, FOR_APPS } from '@device-core/plugin-api/inside/contracts';
import { readServices } from '../../docs/reference/generator/contracts.ts';
import { declaration } from '../../docs/reference/generator/source.ts';
import { CapabilityChecker } from '../../kernel/capabilities.ts';
import { Border, isGuest } from '../../kernel/isolation/border.ts';
import type { PluginEntry } from '../../kernel/resolved.ts';

function entry(more: Partial<PluginEntry> = {}, manifest: object = {}): PluginEntry {
  const own = { id: 'guest', version: '1.0.0', summary: 's', api: '^1.0.0', main: './index.js', ...manifest };
  return {
    id: 'guest',
    manifest: own,
    main: '/guest/index.js',
    tree: false,
    isolation: 'process',
    essential: false,
    enabled: true,
    config: {},
    ...more,
  };
}

function borderOf(
  one: PluginEntry,
  outside = false,
): { readonly border: Border; readonly capabilities: CapabilityChecker } {
  const capabilities = new CapabilityChecker();
  return { border: new Border(one, capabilities, () => outside), capabilities };
}

const claiming = Object.fromEntries(contractIds().map((id) => [id, '*']));

describe('which plugin is a guest', () => {
  const cases: readonly (readonly [string, Partial<PluginEntry>, boolean])[] = [
    ['of the tree, in the thread of the Core', { tree: true, isolation: 'inline' }, false],
    ['of the tree, in a process', { tree: true, isolation: 'process' }, false],
    ['of a SKU, in the thread of the Core', { isolation: 'inline' }, false],
    ['of a SKU, in a worker', { isolation: 'worker' }, true],
    ['of a SKU, in a process', { isolation: 'process' }, true],
    ['installed, in the thread of the Core', { isolation: 'inline', granted: [] }, true],
    ['installed, in a process', { isolation: 'process', granted: [] }, true],
  ];
  for (const [what, more, guest] of cases) test(what, () => assert.equal(isGuest(entry(more)), guest));
});

describe('each contract of plugin-api', () => {
  for (const id of contractIds()) {
    const { access = 'tree', does, members = [] } = contractOf(id) ?? {};
    const denied = (one: PluginEntry) => {
      const { border } = borderOf(one);
      try {
        border.use(id);
        return undefined;
      } catch (error) {
        return error as Error;
      }
    };

    test(`${id} is ${access} at the border`, async () => {
      const unclaimed = denied(entry());
      const ungranted = denied(entry({ granted: [] }, { optional: claiming }));
      const granted = denied(entry({ granted: [id] }, { requires: { [id]: '*' } }));
      const bySku = denied(entry({}, { optional: claiming }));
      if (access === 'open')
        return assert.deepEqual([unclaimed, ungranted, granted, bySku], [undefined, undefined, undefined, undefined]);
      const line = access === 'tree' ? 'no line of a manifest' : `requires: { ${id}: ^`;
      for (const error of [unclaimed, ungranted]) assert.ok(error?.message.includes(line), error?.message);
      if (access === 'powerful') {
        assert.ok(does && unclaimed?.message.includes(does), unclaimed?.message);
        assert.deepEqual([granted, bySku], [undefined, undefined]);
      } else for (const error of [granted, bySku]) assert.match(error?.message ?? '', /never for one from outside/);
    });

    test(`${id}: a refusal is counted`, async () => {
      if (access === 'open') return;
      const { border, capabilities } = borderOf(entry());
      for (let n = 0; n < 2; n++) assert.throws(() => border.use(id), { code: 'SERVICE_DENIED' });
      const [refusal] = await capabilities.refusals();
      assert.deepEqual([refusal?.capability, refusal?.count], [`service.${id}`, 2]);
    });

    test(`${id}: an installed plugin cannot provide it, one of the SKU can`, () => {
      assert.throws(() => borderOf(entry({ granted: [] })).border.provide(id), { code: 'SERVICE_DENIED' });
      borderOf(entry()).border.provide(id);
    });

    test(`${id}: a guest sees what the contract declares`, () => {
      const all = Object.fromEntries([...members, 'purge', 'sweep', 'constructor'].map((name) => [name, () => name]));
      const view = borderOf(entry()).border.view(id, Object.freeze(all));
      assert.deepEqual(Object.keys(view).sort(), [...members].sort());
      assert.ok(!('purge' in view));
      const tree = borderOf(entry({ tree: true })).border.view(id, all);
      assert.equal(tree, all);
    });
  }
});

test('a contract of authors is open between guests, and closed where a plugin of the Core provides it', () => {
  borderOf(entry(), true).border.use('tea');
  assert.throws(() => borderOf(entry(), false).border.use('tea'), { code: 'SERVICE_DENIED' });
  for (const near of ['Panel', 'pаnel', 'panel ', '__proto__', 'constructor'])
    assert.throws(() => borderOf(entry()).border.use(near), { code: 'SERVICE_DENIED' }, near);
});

describe('the kernel says who acts', () => {
  for (const [service, members] of Object.entries(ACTORS))
    for (const [member, { argument, members: inside, without = [], as }] of Object.entries(members))
      test(`${service}.${member}`, () => {
        const calls: unknown[][] = [];
        const impl = { [member]: (...args: unknown[]) => void calls.push(args) };
        const view = borderOf(entry()).border.view(service, impl) as Record<string, (...args: unknown[]) => void>;
        const forged = as !== 'caller' ? 'system' : { kind: 'operator', id: 'operator' };
        const forgery = Object.fromEntries([...(inside ?? []), ...without].map((name) => [name, forged]));
        const said = inside === undefined ? forged : { ...forgery, kept: 1 };
        const args = Array.from({ length: argument + 1 }, (_, at) => (at === argument ? said : at));
        view[member]?.(...args);
        view[member]?.(...args.slice(0, argument)); // left out, it is said all the same
        const mine = { name: 'plugin.guest', owner: 'plugin:guest', caller: { kind: 'plugin', id: 'guest' } }[as];
        const own = Object.fromEntries([
          ...without.map((name) => [name, undefined] as const),
          ...(inside ?? []).map((name) => [name, mine] as const),
        ]);
        assert.deepEqual(calls[0]?.[argument], inside === undefined ? mine : { ...own, kept: 1 });
        assert.deepEqual(calls[1]?.[argument], inside === undefined ? mine : own);
      });

  for (const [service, members] of Object.entries(FOR_APPS))
    for (const member of members)
      test(`${service}.${member} is not for guests`, () => {
        const impl = { [member]: () => assert.fail('it was called') };
        const view = borderOf(entry()).border.view(service, impl) as Record<string, () => void>;
        assert.throws(() => view[member]?.(), { code: 'SERVICE_DENIED' });
      });

  test('each member of an open or powerful contract that names an actor is in the table', () => {
    const missing: string[] = [];
    for (const { id, access, contract, source } of readServices()) {
      if (access === 'tree') continue;
      const body = declaration(source, contract).replace(/\/\*[\s\S]*?\*\//g, '');
      for (const [text, member = ''] of body.matchAll(/^ {2}(\w+)(?:<[^(]*>)?\(([\s\S]*?)\): [A-Z(]/gm)) {
        const asked = text.slice(0, text.lastIndexOf('):'));
        const names = /\b(owner|by|caller|subject)\??: |: (PlayOptions|FunctionRequest|PromptQuestion)\b/.test(asked);
        if (names && !ACTORS[id]?.[member]) missing.push(`${id}.${member}`);
      }
    }
    assert.deepEqual(missing, []);
  });

  test('the tables name members that there are', () => {
    for (const [id, members] of [...Object.entries(ACTORS), ...Object.entries(FOR_APPS)])
      for (const member of Array.isArray(members) ? members : Object.keys(members))
        assert.ok(contractOf(id)?.members.includes(member), `${id}.${member}`);
  });
});
