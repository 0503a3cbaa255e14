/** What an app asks for, which rule decides, and what a new version asks beyond what there is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Asking,
  type ConsentPolicy,
  DEFAULT_POLICY,
  decide,
  difference,
  policyProblem,
} from '@device-core/plugin-api/inside/consent';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import { type Asks, ID, manifest, no, shown, yes } from '../fixtures/asking.ts';

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

test('difference: an added right is asked and says what it widens, a normal one is told, a smaller one passes', () => {
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
