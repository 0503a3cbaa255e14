import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CAPABILITIES, implies } from '@device-core/plugin-api';
import fc from 'fast-check';
import { parse } from 'yaml';
import { judge, manifestLines, minimal } from '../../../plugins/interface/cli/desk/claims.ts';
import { runs } from '../../fixtures/runs.ts';

const claims = (...ids: string[]) => ids.map((id) => ({ id, reason: `for ${id}` }));
const uses = (used: string[], refused: string[] = [], stored = false) => ({
  used,
  stored,
  refused: refused.map((capability) => ({ capability, hint: '' })),
});

describe('claims of an app against its use', () => {
  const cases: readonly (readonly [string, string[], ReturnType<typeof uses>, string[], string[]])[] = [
    ['nothing of nothing', [], uses([]), [], []],
    ['used as claimed', ['display.notify'], uses(['display.notify']), ['used'], ['display.notify']],
    ['never used', ['display.notify'], uses([]), ['idle'], []],
    ['used for one handle', ['bridges.spi'], uses(['bridges.spi:flash']), ['wide'], ['bridges.spi:flash']],
    ['used as a whole, too', ['bridges.spi'], uses(['bridges.spi:a', 'bridges.spi']), ['used'], ['bridges.spi']],
    [
      'two claims, one in the other',
      ['audio', 'audio.intent'],
      uses(['audio.intent']),
      ['wide', 'used'],
      ['audio.intent'],
    ],
    [
      'the network, which the sandbox opens',
      ['network.outbound:a.example'],
      uses([]),
      ['unseen'],
      ['network.outbound:a.example'],
    ],
    ['a device node', ['sensors.node:camera'], uses([]), ['unseen'], ['sensors.node:camera']],
    ['files that it has not', ['storage-scoped'], uses([]), ['unseen'], ['storage-scoped']],
    ['files that it has', ['storage-scoped'], uses([], [], true), ['used'], ['storage-scoped']],
    ['refused, and not claimed', [], uses([], ['audio.capture', 'bridges.spi:<handle>']), [], ['audio.capture']],
  ];
  for (const [title, claimed, used, verdicts, least] of cases)
    test(title, () => {
      const judged = judge(claims(...claimed), used);
      assert.deepEqual(
        judged.map(({ verdict }) => verdict),
        verdicts,
      );
      assert.deepEqual(
        minimal(judged, used).map(({ id }) => id),
        least,
      );
    });
});

test('with the least manifest an app could do all that it did, and no more than it may', () => {
  const ids = CAPABILITIES.flatMap(({ id, scope }) => (scope ? [id, `${id}:a`, `${id}:b`] : [id]));
  fc.assert(
    fc.property(fc.subarray(ids), fc.subarray(ids), (claimed, asked) => {
      const used = asked.filter((one) => claimed.some((claim) => implies(claim, one)));
      const least = minimal(judge(claims(...claimed), uses(used)), uses(used)).map(({ id }) => id);
      for (const one of used)
        assert.ok(
          least.some((claim) => implies(claim, one)),
          `${one} of ${least}`,
        );
      for (const one of least)
        assert.ok(
          claimed.some((claim) => implies(claim, one)),
          `${one} of ${claimed}`,
        );
    }),
    { numRuns: runs(300) },
  );
});

describe('the least manifest keeps what was written beside a claim', () => {
  const HOST = 'network.outbound:weather.house.example';
  type Written = Parameters<typeof judge>[0][number];
  const CASES: readonly (readonly [
    title: string,
    claimed: readonly Written[],
    refused: string[],
    least: readonly object[],
  ])[] = [
    ['its ports', [{ id: HOST, reason: 'r', ports: [41500] }], [], [{ id: HOST, reason: 'r', ports: [41500] }]],
    [
      'a member of its author',
      [{ id: HOST, reason: 'r', optional: true, 'x-note': { a: ['b'] } } as Written],
      [],
      [{ id: HOST, reason: 'r', 'x-note': { a: ['b'] }, optional: true }],
    ],
    [
      'the ports of both where it stands there twice',
      [
        { id: HOST, reason: 'r', ports: [41500] },
        { id: HOST, reason: 's', optional: true },
      ],
      [],
      [{ id: HOST, reason: 'r', ports: [443, 41500] }],
    ],
    [
      'and gets a port that was refused',
      [{ id: HOST, reason: 'r', ports: [443] }],
      [`${HOST}:8443`],
      [{ id: HOST, reason: 'r', ports: [443, 8443] }],
    ],
    [
      'or a host and a port that were',
      [],
      [`${HOST}:8443`],
      [{ id: HOST, reason: 'say here why it is needed', ports: [8443] }],
    ],
  ];
  for (const [title, claimed, refused, least] of CASES)
    test(title, () => {
      const used = uses([], refused);
      const lines = manifestLines(minimal(judge(claimed, used), used));
      assert.deepEqual(parse(lines), { capabilities: least }, lines);
    });
});

test('the lines of the manifest are YAML, for any reason text', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (reason, optional) => {
      const { capabilities } = parse(manifestLines([{ id: 'bridges.spi:flash', reason, optional }]));
      assert.deepEqual(capabilities, [{ id: 'bridges.spi:flash', reason, ...(optional ? { optional } : {}) }]);
    }),
    { numRuns: runs(200) },
  );
  assert.deepEqual(parse(manifestLines([])), { capabilities: [] });
});
