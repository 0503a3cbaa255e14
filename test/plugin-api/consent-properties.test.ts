/** What holds of every manifest, policy, SKU and list of answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CAPABILITIES, type CapabilityId, classOf, implies } from '@device-core/plugin-api';
import {
  type Asking,
  type ConsentPolicy,
  decide,
  difference,
  type Grant,
  grantsOf,
  isSame,
  rulingOf,
} from '@device-core/plugin-api/inside/consent';
import fc from 'fast-check';
import { ID, no, yes } from '../fixtures/asking.ts';
import { runs } from '../fixtures/runs.ts';

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
