/** From the question to what is granted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersOf, type ConsentPolicy, DEFAULT_POLICY, seekConsent } from '@device-core/plugin-api/inside/consent';
import type { Consent, Consents } from '@device-core/plugin-api/inside/services/consents';
import type { PromptOutcome, PromptQuestion } from '@device-core/plugin-api/services/prompts';
import { type Asks, ID, manifest, no, shown, yes } from '../fixtures/asking.ts';

function seeking(outcome: Partial<PromptOutcome>, kept: readonly Consent[] = [], policy: Partial<ConsentPolicy> = {}) {
  const answers = [...kept];
  const asked: PromptQuestion[] = [];
  const consents = {
    policy: async () => ({ ...DEFAULT_POLICY, ...policy }),
    of: async () => [...answers],
  } as Partial<Consents> as Consents;
  const prompts = {
    ask: async (question: PromptQuestion) => {
      asked.push(question);
      const settled = { state: 'answered' as const, allow: [], at: 5, by: 'operator', ...outcome };
      // As the board does.
      if (settled.state === 'answered') answers.push(...answersOf(question, settled));
      return settled;
    },
    withdraw: async () => undefined,
    list: async () => [],
  };
  return { services: { prompts, consents }, asked, kept: () => answers };
}

const APP = { title: 'Agenda' };

test('a person is not asked where the rules decide', async () => {
  const { services, asked } = seeking({});
  const app = { ...manifest('display.notify', 'bridges.spi'), ...APP };
  const decisions = await seekConsent({ app, skuGrants: { [ID]: ['bridges'] } }, services);
  assert.deepEqual(decisions.map(shown), ['display.notify: granted by policy', 'bridges.spi: granted by sku']);
  assert.deepEqual(asked, []);
});

test('an allowed right is granted and kept, with the widened grant and the words of the app in the question', async () => {
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
    kind: 'consent',
    subject: ID,
    title: 'Agenda',
    version: '2.0.0',
    signer: 'acme',
    what: [
      {
        capability: 'network.outbound:a.example',
        summary: 'connect to a.example, port 22, and to no other host',
        sole: true,
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
    says: /audio\.capture: no answer came in time: audio\.capture \(consent: \{ sensitive: ask \}/,
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

test('a refused version that comes again is asked again', async () => {
  const { services, asked } = seeking({ allow: ['audio.capture'] }, [no('audio.capture')]);
  await seekConsent({ app: { ...manifest('audio.capture'), ...APP }, skuGrants: {} }, services);
  assert.equal(asked.length, 1);
});

test('without a way to ask the refusal says so, and optional capabilities are left out', async () => {
  const app = { ...manifest('audio.capture'), ...APP };
  await assert.rejects(seekConsent({ app, skuGrants: {} }, {}), /there are no prompts: plugin prompts/);
  const optional = { ...app, capabilities: app.capabilities.map((one) => ({ ...one, optional: true })) };
  assert.deepEqual((await seekConsent({ app: optional, skuGrants: {} }, {})).map(shown), [
    'audio.capture: ask by policy',
  ]);
});
