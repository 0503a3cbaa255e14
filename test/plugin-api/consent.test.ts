/** What an app asks for, which rule decides, and what a new version asks beyond what there is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CAPABILITIES,
  type CapabilityId,
  type Consent,
  type Consents,
  classOf,
  implies,
  type PromptOutcome,
  type PromptQuestion,
} from '@device-core/plugin-api';
import {
  type Asking,
  type ConsentPolicy,
  DEFAULT_POLICY,
  type Decision,
  decide,
  difference,
  type Grant,
  grantsOf,
  isSame,
  policyProblem,
  rulingOf,
  seekConsent,
} from '@device-core/plugin-api/consent';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

const ID = 'com.example.agenda';

type Asks = string | { readonly id: CapabilityId; readonly ports?: readonly number[] };

function manifest(...capabilities: readonly Asks[]): Asking {
  return {
    id: ID,
    version: '2.0.0',
    capabilities: capabilities.map((one) => ({
      reason: 'it needs it',
      ...(typeof one === 'string' ? { id: one as CapabilityId } : one),
    })),
  };
}

function yes(capability: string, ports?: readonly number[]): Consent {
  return {
    capability: capability as CapabilityId,
    ...(ports ? { params: { ports } } : {}),
    allowed: true,
    by: 'operator',
    at: 0,
    version: '1.0.0',
  };
}

const no = (capability: string, ports?: readonly number[]): Consent => ({ ...yes(capability, ports), allowed: false });

function shown({ capability, params, verdict, by }: Decision): string {
  return `${capability}${params?.ports ? ` ${params.ports}` : ''}: ${verdict} by ${by.from}`;
}

const CASES: readonly {
  readonly title: string;
  readonly asks: readonly Asks[];
  readonly policy?: Partial<ConsentPolicy>;
  readonly sku?: readonly string[];
  readonly consents?: readonly Consent[];
  readonly gets: readonly string[];
}[] = [
  { title: 'normal is granted', asks: ['display.notify'], gets: ['display.notify: granted by policy'] },
  { title: 'sensitive is asked', asks: ['audio.capture'], gets: ['audio.capture: ask by policy'] },
  { title: 'oem is denied', asks: ['bridges.spi'], gets: ['bridges.spi: denied by policy'] },
  {
    title: 'oem is denied where somebody allowed it',
    asks: ['bridges.spi'],
    consents: [yes('bridges.spi')],
    policy: { overrides: { bridges: 'auto' } },
    gets: ['bridges.spi: denied by policy'],
  },
  { title: 'the SKU grants oem', asks: ['bridges.spi'], sku: ['bridges'], gets: ['bridges.spi: granted by sku'] },
  {
    title: 'a no of the owner stands over the SKU',
    asks: ['bridges.spi:flash'],
    sku: ['bridges'],
    consents: [no('bridges.spi:flash')],
    gets: ['bridges.spi:flash: denied by consent'],
  },
  {
    title: 'a no about a part stands against the whole',
    asks: ['audio'],
    policy: { sensitive: 'auto' },
    consents: [no('audio.capture')],
    gets: ['audio: denied by consent'],
  },
  {
    title: 'the newest answer counts',
    asks: ['audio.capture', 'sensors.nfc'],
    consents: [no('audio.capture'), yes('sensors.nfc'), yes('audio'), no('sensors.nfc')],
    gets: ['audio.capture: granted by consent', 'sensors.nfc: denied by consent'],
  },
  {
    title: 'a no about the whole was said of something else than a part',
    asks: ['network.outbound:a.example', 'network.outbound'],
    consents: [yes('network.outbound:a.example', [443]), no('network.outbound')],
    gets: ['network.outbound:a.example 443: granted by consent', 'network.outbound: denied by consent'],
  },
  {
    title: 'an answer about another scope has nothing to do with it',
    asks: ['bridges.spi:flash'],
    consents: [yes('bridges.spi:slow')],
    gets: ['bridges.spi:flash: ask by policy'],
  },
  {
    title: 'what the policy denies nobody allows',
    asks: ['audio.capture'],
    policy: { overrides: { 'audio.capture': 'deny' } },
    consents: [yes('audio.capture')],
    gets: ['audio.capture: denied by policy'],
  },
  {
    title: 'the SKU grants what its policy denies to others',
    asks: ['audio.capture'],
    policy: { sensitive: 'deny' },
    sku: ['audio.capture'],
    gets: ['audio.capture: granted by sku'],
  },
  {
    title: 'an override speaks of every scope',
    asks: ['network.outbound:api.example.com', 'network.outbound'],
    policy: { overrides: { 'network.outbound:*': 'auto' } },
    gets: ['network.outbound:api.example.com 443: granted by policy', 'network.outbound: ask by policy'],
  },
  {
    title: 'a host is one question for each of its ports',
    asks: [{ id: 'network.outbound:api.example.com', ports: [443, 22] }],
    consents: [yes('network.outbound:api.example.com', [443])],
    gets: [
      'network.outbound:api.example.com 443: granted by consent',
      'network.outbound:api.example.com 22: ask by policy',
    ],
  },
  {
    title: 'the SKU names a host with all its ports',
    asks: [{ id: 'network.outbound:api.example.com', ports: [443, 22] }],
    sku: ['network.outbound:api.example.com'],
    gets: ['network.outbound:api.example.com 22,443: granted by sku'],
  },
  {
    title: 'an answer with damaged ports allows none',
    asks: ['network.outbound:api.example.com'],
    consents: [{ ...yes('network.outbound:api.example.com'), params: { ports: 'all' } }],
    gets: ['network.outbound:api.example.com 443: ask by policy'],
  },
  {
    title: 'what nobody knows is denied',
    asks: ['audio.captrue'],
    policy: { normal: 'auto', sensitive: 'auto' },
    consents: [yes('audio')],
    gets: ['audio.captrue: denied by catalogue'],
  },
  {
    title: 'normal can be asked, too',
    asks: ['display.notify', 'display.surface'],
    policy: { normal: 'ask', overrides: { 'display.surface': 'auto' } },
    gets: ['display.notify: ask by policy', 'display.surface: granted by policy'],
  },
];

for (const { title, asks, policy, sku = [], consents = [], gets } of CASES)
  test(`decide: ${title}`, () => {
    const rules = { policy: { ...DEFAULT_POLICY, ...policy }, skuGrants: { [ID]: sku }, consents };
    assert.deepEqual(decide(manifest(...asks), rules).map(shown), gets);
  });

test('a decision names the line that said so, and what would grant it', () => {
  const rules = { policy: DEFAULT_POLICY, skuGrants: { '*': ['audio.capture'] }, consents: [no('sensors.nfc')] };
  const all = decide(manifest('audio.capture', 'sensors.nfc', 'bridges', 'network.listen', 'nonsense'), rules);
  assert.deepEqual(
    all.map(({ by, hint }) => [by.line, hint]),
    [
      ['grants: { "*": ["audio.capture"] }', undefined],
      [
        'operator denied sensors.nfc to version 1.0.0 on 1970-01-01T00:00:00.000Z',
        `devicectl app grant ${ID} sensors.nfc`,
      ],
      ['consent: { oem: deny }', `grants: { ${ID}: ["bridges"] }`],
      ['consent: { sensitive: ask }', `devicectl app grant ${ID} network.listen`],
      ['there is no capability nonsense', undefined],
    ],
  );
});

test('an app whose name is that of a member of every object gets nothing by it', () => {
  const rules = { policy: DEFAULT_POLICY, skuGrants: {}, consents: [] };
  assert.deepEqual(decide({ ...manifest('audio.capture'), id: '__proto__' }, rules).map(shown), [
    'audio.capture: ask by policy',
  ]);
});

const POLICIES: readonly (readonly [ConsentPolicy['overrides'], string | undefined])[] = [
  [undefined, undefined],
  [{ 'audio.capture': 'auto', 'network.outbound:*': 'deny', bridges: 'deny' }, undefined],
  [{ 'audio.captrue': 'ask' }, 'overrides: there is no capability audio.captrue; did you mean audio.capture?'],
  [{ 'audio.capture:*': 'ask' }, 'overrides: there is no capability audio.capture:*; did you mean audio.capture?'],
  [{ system: 'ask' }, 'overrides: system is of class oem, which only the grants of the SKU can give'],
  [
    { 'sensors.node:*': 'auto' },
    'overrides: sensors.node:* is of class oem, which only the grants of the SKU can give',
  ],
];

for (const [overrides, problem] of POLICIES)
  test(`a policy with ${JSON.stringify(overrides)} ${problem ? 'is refused' : 'is taken'}`, () => {
    assert.equal(policyProblem({ ...DEFAULT_POLICY, ...(overrides ? { overrides } : {}) }), problem);
  });

test('difference: what is more is asked and says what it widens, what is normal is told, what is less passes', () => {
  const former: Asking = {
    ...manifest('bridges.spi:flash', 'audio.playback', 'network.outbound:a.example', 'sensors.nfc'),
    resources: { memoryMaxMB: 64, cpuPercent: 50 },
    functions: [
      { name: 'a', version: '1.0.0', utterances: ['say a'] },
      { name: 'b', version: '1.0.0' },
    ],
  };
  const next: Asking = {
    ...manifest(
      'bridges.spi',
      'audio.playback',
      { id: 'network.outbound:a.example', ports: [443, 22] },
      'display.notify',
    ),
    resources: { memoryMaxMB: 128, tasksMax: 8 },
    functions: [
      { name: 'a', version: '1.0.0', utterances: ['say a', 'send a'] },
      { name: 'c', version: '1.0.0', utterances: ['pay'] },
    ],
  };
  const found = difference(former, next, [
    { capability: 'bridges.spi:flash' },
    { capability: 'audio.playback' },
    { capability: 'network.outbound:a.example', ports: [443] },
    { capability: 'sensors.nfc' },
  ]);
  assert.deepEqual(
    found.asked.map(({ capability, params, widens, class: kind }) => ({ capability, params, widens, kind })),
    [
      { capability: 'bridges.spi', params: undefined, widens: 'bridges.spi:flash', kind: 'oem' },
      {
        capability: 'network.outbound:a.example',
        params: { ports: [22] },
        widens: 'network.outbound:a.example',
        kind: 'sensitive',
      },
    ],
  );
  assert.deepEqual(
    found.told.map(({ capability }) => capability),
    ['display.notify'],
  );
  assert.deepEqual(found.dropped, [{ capability: 'sensors.nfc' }]);
  assert.deepEqual(found.budgets, [
    { budget: 'cpuPercent', from: 50 },
    { budget: 'memoryMaxMB', from: 64, to: 128 },
    { budget: 'tasksMax', to: 8 },
  ]);
  assert.deepEqual(found.functions, [
    { name: 'a', kind: 'changed', utterances: ['say a', 'send a'] },
    { name: 'c', kind: 'added', utterances: ['pay'] },
    { name: 'b', kind: 'removed', utterances: [] },
  ]);
});

// ---- from the question to what is granted ----

function seeking(outcome: Partial<PromptOutcome>, kept: readonly Consent[] = [], policy: Partial<ConsentPolicy> = {}) {
  const answers = [...kept];
  const asked: PromptQuestion[] = [];
  const consents = {
    policy: async () => ({ ...DEFAULT_POLICY, ...policy }),
    of: async () => [...answers],
    keep: async (_app: string, more: readonly Consent[]) => void answers.push(...more),
  } as Partial<Consents> as Consents;
  const prompts = {
    ask: async (question: PromptQuestion) => {
      asked.push(question);
      return { state: 'answered' as const, allow: [], at: 5, by: 'operator', ...outcome };
    },
    withdraw: async () => undefined,
    list: async () => [],
  };
  return { services: { prompts, consents }, asked, kept: () => answers };
}

const APP = { title: 'Agenda' };

test('nobody is asked where the rules decide', async () => {
  const { services, asked } = seeking({});
  const app = { ...manifest('display.notify', 'bridges.spi'), ...APP };
  const decisions = await seekConsent({ app, skuGrants: { [ID]: ['bridges'] } }, services);
  assert.deepEqual(decisions.map(shown), ['display.notify: granted by policy', 'bridges.spi: granted by sku']);
  assert.deepEqual(asked, []);
});

test('what was allowed is granted and kept, with the widened grant and the words of the app in the question', async () => {
  const { services, asked, kept } = seeking({ allow: ['network.outbound:a.example'] }, [
    yes('network.outbound:a.example', [443]),
  ]);
  const app = { ...manifest({ id: 'network.outbound:a.example', ports: [443, 22] }), ...APP };
  const former = manifest('network.outbound:a.example');
  const decisions = await seekConsent({ app, former, skuGrants: {}, signer: 'acme' }, services);
  assert.deepEqual(decisions.map(shown), [
    'network.outbound:a.example 443: granted by consent',
    'network.outbound:a.example 22: granted by consent',
  ]);
  const [question] = asked;
  assert.deepEqual(question, {
    ...{ kind: 'consent', subject: ID, title: 'Agenda', version: '2.0.0', signer: 'acme' },
    what: [
      {
        capability: 'network.outbound:a.example',
        summary: 'connect to any host, of these only host a.example',
        reason: 'it needs it',
        optional: false,
        params: { ports: [22] },
        widens: 'network.outbound:a.example',
      },
    ],
  });
  assert.deepEqual(kept().at(-1), { ...yes('network.outbound:a.example', [22]), at: 5, version: '2.0.0' });
});

const REFUSALS: readonly {
  readonly title: string;
  readonly asks: readonly Asks[];
  readonly outcome?: Partial<PromptOutcome>;
  readonly kept?: readonly Consent[];
  readonly says: RegExp;
}[] = [
  {
    title: 'a no',
    asks: ['audio.capture'],
    says: /needs consent for audio\.capture: operator did not allow it: audio\.capture \(operator denied.*to grant it: devicectl app grant com\.example\.agenda audio\.capture/,
  },
  {
    title: 'silence',
    asks: ['audio.capture'],
    outcome: { state: 'expired' },
    says: /audio\.capture: nobody answered in time: audio\.capture \(consent: \{ sensitive: ask \}/,
  },
  { title: 'a withdrawn question', asks: ['audio.capture'], outcome: { state: 'withdrawn' }, says: /was withdrawn/ },
  {
    title: 'class oem',
    asks: ['bridges.spi'],
    says: /bridges\.spi \(consent: \{ oem: deny \}; to grant it: grants: \{ com\.example\.agenda: \["bridges\.spi"\] \}/,
  },
  {
    title: 'a no to one of two',
    asks: ['audio.capture', 'sensors.nfc'],
    outcome: { allow: ['audio.capture'] },
    says: /for sensors\.nfc: operator did not allow it/,
  },
];

for (const { title, asks, outcome = {}, kept = [], says } of REFUSALS)
  test(`a version that cannot do without is refused after ${title}`, async () => {
    const { services } = seeking(outcome, kept);
    const app = { ...manifest(...asks), ...APP };
    await assert.rejects(
      seekConsent({ app, skuGrants: {} }, services),
      (error: { code?: string; message?: string }) => {
        assert.equal(error.code, 'CONSENT_REQUIRED');
        assert.match(String(error.message), says);
        return true;
      },
    );
  });

test('optional capabilities are left out, and a kept no about them is not asked again', async () => {
  const { services, asked } = seeking({ allow: [] });
  const optional = manifest('audio.capture');
  const app = { ...optional, ...APP, capabilities: optional.capabilities.map((one) => ({ ...one, optional: true })) };
  const decisions = await seekConsent({ app, skuGrants: {} }, services);
  assert.deepEqual(decisions.map(shown), ['audio.capture: denied by consent']);
  await seekConsent({ app, skuGrants: {} }, services);
  assert.equal(asked.length, 1);
});

test('whoever brings a refused version again is asked again', async () => {
  const { services, asked } = seeking({ allow: ['audio.capture'] }, [no('audio.capture')]);
  await seekConsent({ app: { ...manifest('audio.capture'), ...APP }, skuGrants: {} }, services);
  assert.equal(asked.length, 1);
});

test('where nobody can be asked the refusal says so, and optional capabilities are left out', async () => {
  const app = { ...manifest('audio.capture'), ...APP };
  await assert.rejects(seekConsent({ app, skuGrants: {} }, {}), /nobody can be asked, because plugin prompts/);
  const optional = { ...app, capabilities: app.capabilities.map((one) => ({ ...one, optional: true })) };
  assert.deepEqual((await seekConsent({ app: optional, skuGrants: {} }, {})).map(shown), [
    'audio.capture: ask by policy',
  ]);
});

// ---- properties ----

const SCOPES: readonly string[] = ['flash', 'slow', 'a.example', 'b.example'];
const capability = fc
  .constantFrom(...CAPABILITIES)
  .chain((info) =>
    info.scope
      ? fc
          .option(fc.constantFrom(...SCOPES), { nil: undefined })
          .map((scope) => (scope ? `${info.id}:${scope}` : info.id))
      : fc.constant(info.id),
  )
  .map((id) => id as CapabilityId);
const ports = fc.option(fc.uniqueArray(fc.constantFrom(22, 80, 443), { minLength: 1 }), { nil: undefined });
const asked = fc.record({ id: capability, ports, optional: fc.boolean() }).map(({ ports: some, ...one }) => ({
  ...one,
  reason: 'x',
  ...(some && one.id.includes('outbound:') ? { ports: some } : {}),
}));
const asking = fc
  .array(asked, { maxLength: 6 })
  .map((capabilities): Asking => ({ id: ID, version: '1.0.0', capabilities }));
const answer = fc
  .record({ capability, ports, allowed: fc.boolean() })
  .map(({ capability: id, ports: some, allowed }) => ({ ...yes(id, some), allowed }));
const ruling = fc.constantFrom('auto', 'ask', 'deny');
const policy = fc
  .record({ normal: ruling, sensitive: ruling, overrides: fc.dictionary(capability, ruling, { maxKeys: 3 }) })
  .map((one): ConsentPolicy => ({ ...one, oem: 'deny' }));
const rules = fc.record({
  policy,
  skuGrants: fc.array(capability, { maxLength: 3 }).map((list) => ({ [ID]: list })),
  consents: fc.array(answer, { maxLength: 4 }),
});
const OPTIONS = { numRuns: runs(1_000) };

test('a no that is the newest answer leaves nothing granted that contains what it refused', () => {
  fc.assert(
    fc.property(asking, rules, capability, (app, given, refused) => {
      const after = grantsOf(decide(app, { ...given, consents: [...given.consents, no(refused)] }));
      for (const grant of after) assert.ok(!implies(grant.capability, refused));
    }),
    OPTIONS,
  );
});

test('nothing of class oem is granted but by the SKU, and nothing that was not asked', () => {
  fc.assert(
    fc.property(asking, rules, (app, given) => {
      for (const { capability: id, verdict, by } of decide(app, given)) {
        assert.ok(app.capabilities.some((one) => one.id === id));
        if (classOf(id) === 'oem' && verdict === 'granted') assert.equal(by.from, 'sku');
        if (classOf(id) === 'oem') assert.notEqual(verdict, 'ask');
      }
    }),
    OPTIONS,
  );
});

test('one more yes never takes a grant away, and one more no never gives one', () => {
  const strings = (grants: readonly Grant[]) =>
    new Set(grants.flatMap(({ capability: id, ports: some }) => (some ?? ['']).map((port) => `${id} ${port}`)));
  fc.assert(
    fc.property(asking, rules, answer, (app, given, more) => {
      const before = strings(grantsOf(decide(app, given)));
      const after = strings(grantsOf(decide(app, { ...given, consents: [...given.consents, more] })));
      if (more.allowed)
        assert.deepEqual(
          [...before].filter((one) => !after.has(one)),
          [],
        );
      else
        assert.deepEqual(
          [...after].filter((one) => !before.has(one)),
          [],
        );
    }),
    OPTIONS,
  );
});

test('a capability that contains another never gets a milder ruling', () => {
  const rank = ['auto', 'ask', 'deny'];
  fc.assert(
    fc.property(policy, capability, capability, (given, whole, part) => {
      fc.pre(implies(whole, part) && classOf(part) !== undefined);
      assert.ok(rank.indexOf(rulingOf(given, whole).ruling) >= rank.indexOf(rulingOf(given, part).ruling));
    }),
    { numRuns: runs(1_000), maxSkipsPerRun: 10_000 },
  );
});

test('a version compared with what it was granted in full has no difference, and less of it neither', () => {
  fc.assert(
    fc.property(asking, fc.infiniteStream(fc.boolean()), (app, keep) => {
      const all = difference(undefined, app, []);
      const held: Grant[] = [...all.asked, ...all.told].map(({ capability: id, params }) => ({
        capability: id,
        ...(params?.ports ? { ports: params.ports as number[] } : {}),
      }));
      assert.ok(isSame(difference(app, app, held)));
      const less = { ...app, capabilities: app.capabilities.filter(() => keep.next().value) };
      const { asked: more, told } = difference(app, less, held);
      assert.deepEqual([...more, ...told], []);
    }),
    OPTIONS,
  );
});

test('one more grant never adds to a difference', () => {
  fc.assert(
    fc.property(asking, fc.array(capability, { maxLength: 4 }), capability, (app, held, more) => {
      const names = (grants: readonly string[]) => {
        const { asked: one, told } = difference(
          undefined,
          app,
          grants.map((id) => ({ capability: id })),
        );
        return new Set([...one, ...told].map(({ capability: id, params }) => `${id} ${JSON.stringify(params?.ports)}`));
      };
      const before = names(held);
      assert.deepEqual(
        [...names([...held, more])].filter((one) => !before.has(one)),
        [],
      );
    }),
    OPTIONS,
  );
});
