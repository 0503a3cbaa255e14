/** The border of guests, without a guest: access, members, and who acts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreError, Secret } from '@device-core/plugin-api';
import { ACTORS, contractIds, contractOf, FOR_APPS } from '@device-core/plugin-api/inside/contracts';
import { givenBy, readServices } from '../../docs/reference/generator/contracts.ts';
import { declaration } from '../../docs/reference/generator/source.ts';
import { CapabilityChecker } from '../../kernel/capabilities.ts';
import { Border, isGuest } from '../../kernel/isolation/border.ts';
import type { PluginEntry } from '../../kernel/resolved.ts';
import { UseBook } from '../../kernel/usage/uses.ts';

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

describe('a guest gets the members that the contract of an answer declares', () => {
  class Registration implements AsyncDisposable {
    readonly owner = 'the Core';
    disposed = 0;
    purge = () => assert.fail('it was reached');
    sweep() {
      assert.fail('it was reached');
    }
    push = async (events: readonly unknown[]) => events.length;
    async *[Symbol.asyncIterator]() {
      yield 'frame';
    }
    async [Symbol.asyncDispose]() {
      this.disposed++;
    }
  }

  /** The member of a service as a guest has it, which answers with `answer`. */
  const member = (service: string, name: string, answer: unknown) =>
    (borderOf(entry()).border.view(service, { [name]: () => answer }) as Record<string, () => unknown>)[name]!;

  const cases: readonly (readonly [string, string, readonly PropertyKey[]])[] = [
    ['gpio', 'register', [Symbol.asyncDispose]],
    ['audio', 'capture', [Symbol.asyncIterator]],
    ['inputs', 'register', ['push', Symbol.asyncDispose]],
    ['gpio', 'handles', ['owner', 'disposed']],
  ];
  for (const [service, name, members] of cases) {
    test(`${service}.${name}, at once`, () => {
      assert.deepEqual(Reflect.ownKeys(Object(member(service, name, new Registration())())), members);
    });

    test(`${service}.${name}, later`, async () => {
      const answer = Promise.resolve(new Registration());
      const handed: PromiseLike<unknown> = member(service, name, answer)() as never;
      assert.deepEqual(Reflect.ownKeys(Object(await handed)), members);
    });

    test(`${service}.${name} of a provider in another thread, which answers with all kinds in one`, async () => {
      const call = Object.assign(Promise.resolve(new Registration()), {
        purge: () => assert.fail('it was reached'),
        [Symbol.asyncIterator]: () => new Registration()[Symbol.asyncIterator](),
        [Symbol.asyncDispose]: async () => undefined,
      });
      const handed: PromiseLike<unknown> = member(service, name, call)() as never;
      assert.ok(!('purge' in handed));
      assert.deepEqual(Reflect.ownKeys(Object(await handed)), members);
    });
  }

  test('the object that it got works, and ends the one it stands for', async () => {
    const registration = new Registration();
    {
      await using source = member('inputs', 'register', registration)() as Registration;
      assert.equal(await source.push([1, 2]), 2);
    }
    assert.equal(registration.disposed, 1);
  });

  test('data of every kind comes as it is, and a failure as a failure', async () => {
    const bytes = new Uint8Array(3);
    const secret = new Secret('pin', async () => '1234');
    for (const answer of [bytes, secret, [{ a: 1 }], new Map([[1, 2]]), new Error('e'), null, 7, { when: new Date(0) }])
      assert.equal(member('gpio', 'handles', answer)(), answer);
    const failing = member('gpio', 'handles', Promise.reject(new CoreError('BUSY', { what: 'it', limit: 1 })))();
    await assert.rejects(failing as Promise<unknown>, { code: 'BUSY' });
  });

  test('interfaces with members that a contract answers with are in the table', () => {
    const source = [
      'export interface Handle extends AsyncDisposable {\n  push(events: readonly string[]): Promise<void>;\n}',
      'export interface Told {\n  readonly at: number;\n}',
      'export interface Things {',
      '  add(name: string): Handle;',
      '  later(name: string): Promise<Handle>;',
      '  told(): Promise<Told>;',
      '  frames(): AsyncIterable<Told>;',
      '  onChange(listener: (told: Told) => void): Promise<Disposable>;',
      '  invoke(name: string): Promise<unknown>;',
      '}',
    ].join('\n');
    const handle = "['push']";
    const expected = { add: handle, later: handle, frames: "'iterate'", onChange: "'dispose'", invoke: "'any'" };
    assert.deepEqual(givenBy(source, 'Things'), expected);
  });
});

test('two guests that conspire have what each of them has: the other acts in the name of the lender, in its book', () => {
  const calls: unknown[][] = [];
  const gpio = { register: (...args: unknown[]) => void calls.push(args), purge: () => assert.fail('it was reached') };
  const uses = new UseBook();
  const lender = entry({ id: 'lender', granted: ['gpio'] }, { requires: { gpio: '^1.0.0' } });
  const border = new Border(lender, new CapabilityChecker(), () => true, uses);
  const lent = { pass: () => border.entered('gpio', gpio) };
  const { border: other, capabilities } = borderOf(entry({ id: 'other', granted: [] }), true);
  // A contract of authors is open between them, and hands over what the lender has.
  const got = (other.entered('pair', lent) as typeof lent).pass() as Record<string, (...args: unknown[]) => void>;
  assert.ok(!('purge' in got));
  got.register?.({ name: 'led' }, 'plugin.other');
  assert.equal(calls[0]?.[1], 'plugin.lender');
  assert.deepEqual(
    uses.told().uses.map(({ name, count }) => [name, count]),
    [['gpio', 1]],
  );
  assert.throws(() => other.use('gpio'), { code: 'SERVICE_DENIED' });
  return capabilities.refusals().then(([refusal]) => assert.equal(refusal?.capability, 'service.gpio'));
});

test('uses of a guest are counted by service and by hook, and reading a view is none', () => {
  const uses = new UseBook();
  let now = 1_000;
  const border = new Border(
    entry(),
    new CapabilityChecker(),
    () => false,
    uses,
    () => now,
  );
  const view = border.view('gpio', { read: () => 1, handles: () => [] }) as Record<string, () => unknown>;
  const tap = border.tapped('health.collect', (value: number) => value + 1);
  assert.deepEqual(uses.told().uses, []);
  view.read?.();
  now = 2_000;
  view.handles?.();
  assert.equal(tap(1), 2);
  assert.deepEqual(uses.told().uses, [
    { kind: 'service', name: 'gpio', count: 2, last: 2_000 },
    { kind: 'hook', name: 'health.collect', count: 1, last: 2_000 },
  ]);
});

test('a plugin that uses many names has 256 rows, and one for all others', () => {
  const uses = new UseBook();
  for (let n = 0; n < 1_000; n++) uses.used('capability', `network.outbound:host${n}`);
  assert.equal(uses.told().uses.length, 257);
  assert.deepEqual(
    uses
      .told()
      .uses.filter(({ kind }) => kind === 'other')
      .map(({ name, count }) => [name, count]),
    [['others', 744]],
  );
});

test('a capability that a call of a plugin needed is a use; a question is none', async () => {
  const uses = new UseBook();
  const checker = new CapabilityChecker((plugin) => (plugin === 'guest' ? uses : undefined));
  const guest = { kind: 'plugin', id: 'guest' } as const;
  await checker.set(guest, ['system.logs', 'bridges.spi']);
  checker.holds(guest, 'system.logs');
  assert.deepEqual(uses.told().uses, []);
  checker.require(guest, 'system.logs');
  checker.requireAny(guest, 'bridges.spi', 'bridges.spi:flash');
  assert.throws(() => checker.require(guest, 'network.listen'), { code: 'CAPABILITY_DENIED' });
  assert.deepEqual(
    uses.told().uses.map(({ name, count }) => [name, count]),
    [
      ['system.logs', 1],
      ['bridges.spi:flash', 1],
    ],
  );
});
