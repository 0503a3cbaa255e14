/** What a person reads before a yes: each right and each act as a sentence in the three languages, and what is on before anything is switched. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CAPABILITIES, type CapabilityId } from '@device-core/plugin-api';
import {
  actIn,
  choicesOf,
  claimIn,
  DEFAULT_POLICY,
  decide,
  inTurn,
  itemOf,
  optionalIn,
  rightIn,
  yesTo,
} from '@device-core/plugin-api/inside/consent';
import { contractIds, contractOf } from '@device-core/plugin-api/inside/contracts';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

const ROOT = join(import.meta.dirname, '../..');
const LANGUAGES = ['en', 'de', 'fr'] as const;

interface Asked {
  readonly id: string;
  readonly ports?: readonly number[];
}

/** What a question shows of the first capability of a manifest. */
function itemsOf(...asked: readonly Asked[]) {
  const capabilities = asked.map(({ id, ...more }) => ({ id: id as CapabilityId, reason: 'r', ...more }));
  return decide({ id: 'com.example.a', capabilities }, { policy: DEFAULT_POLICY, skuGrants: {}, consents: [] }).map(
    itemOf,
  );
}

const RIGHTS: readonly (readonly [asked: Asked, en: string, de: string, fr: string])[] = [
  [
    { id: 'network.outbound:weather.house.example', ports: [41500] },
    'Connect to weather.house.example, port 41500, and to no other host',
    'Sich mit weather.house.example, Port 41500 verbinden und mit keinem anderen Server',
    'Se connecter à weather.house.example, port 41500 et à aucun autre serveur',
  ],
  [
    { id: 'network.outbound' },
    'Connect to any host',
    'Sich mit jedem Server verbinden',
    'Se connecter à n’importe quel serveur',
  ],
  [
    { id: 'bridges.spi:flash' },
    'Use the SPI device “flash”',
    'Das SPI-Gerät „flash“ benutzen',
    'Utiliser l’appareil SPI « flash »',
  ],
  [{ id: 'bridges.gpio' }, 'Use every GPIO handle', 'Alle GPIO-Geräte benutzen', 'Utiliser tous les appareils GPIO'],
  [{ id: 'sensors:climate' }, 'Read the sensor “climate”', 'Den Sensor „climate“ lesen', 'Lire le capteur « climate »'],
  [{ id: 'sensors.climate' }, 'Read the sensor “climate”', 'Den Sensor „climate“ lesen', 'Lire le capteur « climate »'],
  [
    { id: 'sensors.nfc' },
    'Read and write NFC tags',
    'NFC-Tags lesen und beschreiben',
    'Lire et écrire des étiquettes NFC',
  ],
  [
    { id: 'display.node:fb0' },
    'Open the device node “fb0”',
    'Die Gerätedatei „fb0“ öffnen',
    'Ouvrir le fichier de périphérique « fb0 »',
  ],
  [
    { id: 'functions.call:com.example.agenda' },
    'Call functions of the app com.example.agenda',
    'Funktionen der App com.example.agenda aufrufen',
    'Appeler les fonctions de l’application com.example.agenda',
  ],
  [
    { id: 'events.read:com.example.agenda' },
    'Read the events of the app com.example.agenda',
    'Die Ereignisse der App com.example.agenda lesen',
    'Lire les événements de l’application com.example.agenda',
  ],
  [{ id: 'audio.capture' }, 'Hear the microphone', 'Das Mikrofon hören', 'Écouter le micro'],
];

describe('a right is a sentence', () => {
  for (const [asked, ...sentences] of RIGHTS)
    it(`of ${asked.id}`, () => {
      const [item] = itemsOf(asked);
      assert.deepEqual(
        LANGUAGES.map((language) => rightIn(language, item!)),
        sentences,
      );
    });

  it('that calls a host the only one where no other part of the network is asked for, and only there', () => {
    const hosts = itemsOf(
      { id: 'network.outbound:a.example', ports: [443, 8443] },
      { id: 'network.outbound:b.example' },
    );
    assert.deepEqual(
      hosts.map(({ summary }) => summary),
      ['connect to a.example, ports 443, 8443', 'connect to b.example, port 443'],
    );
    const [listening] = itemsOf({ id: 'network.outbound:a.example' }, { id: 'network.listen' });
    assert.equal(listening?.summary, 'connect to a.example, port 443');
  });

  for (const { id, scope, summary } of CAPABILITIES)
    for (const language of ['de', 'fr'])
      it(`of ${id} in ${language}, whole and with a scope`, () => {
        assert.notEqual(rightIn(language, { capability: id, summary: 'no words' }), 'No words', summary);
        if (scope === undefined) return;
        const named = rightIn(language, { capability: `${id}:some.name`, summary: 'no words' });
        assert.match(named, /some\.name/);
        assert.doesNotMatch(named, /[{}]/);
      });

  it('in English for a language without words, with any name', () => {
    for (const capability of [
      'constructor',
      'constructor:x',
      '__proto__:x',
      'toString',
      'sensors.a.b',
      '',
      'nonsense:x',
    ])
      for (const language of ['de', 'fr-CA', 'nl', '', '__proto__'])
        assert.match(
          rightIn(language, { capability, summary: 'in English' }),
          /^(In English|Den Sensor|Lire le capteur)/,
        );
    assert.equal(claimIn('de', { kind: 'constructor', name: 'x', summary: 'in English' }), 'In English');
    assert.equal(actIn('de', { operation: 'constructor', act: 'in English' }), 'In English');
  });
});

describe('a powerful service is a sentence', () => {
  for (const service of contractIds().filter((id) => contractOf(id)?.access === 'powerful'))
    it(service, () => {
      const summary = `${contractOf(service)?.does} (service ${service})`;
      const said = LANGUAGES.map((language) => claimIn(language, { kind: 'service', name: service, summary }));
      assert.equal(new Set(said).size, 3, said.join('; '));
    });
});

describe('an act is a sentence', () => {
  /** The name before each `sensitive` in the sources of the tree. */
  const found = globSync(['plugins/*/*/*.ts', 'plugin-api/inside/secrets-kit/*.ts'], { cwd: ROOT }).flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return [...text.matchAll(/sensitive: \{ act:/g)].map(
      ({ index }) =>
        text
          .slice(0, index)
          .match(/name: ['`]([^'`]+)['`]/g)
          ?.at(-1) ?? file,
    );
  });
  const names = found.flatMap((name) => {
    const operation = name.slice("name: '".length, -1);
    if (operation.startsWith('system.$')) return ['system.restart', 'system.reboot', 'system.powerOff'];
    return operation.startsWith('apps.$') ? ['apps.grant'] : [operation];
  });
  it('for as many operations as are sensitive', () => assert.ok(names.length >= 28, names.join(' ')));
  for (const operation of names)
    it(`in German and French: ${operation}`, () => {
      for (const language of ['de', 'fr']) {
        const sentence = actIn(language, { operation, names: {}, act: 'no words' });
        assert.notEqual(sentence, 'No words');
        assert.doesNotMatch(sentence, /[{}[\]]/);
      }
    });

  it('with its params, and without the parts whose params are absent', () => {
    const act = 'hold updates back';
    assert.equal(actIn('de', { operation: 'update.hold', names: {}, act }), 'Aktualisierungen zurückhalten');
    assert.equal(
      actIn('fr', { operation: 'update.hold', names: { hours: '2', discard: 'true' }, act }),
      'Retenir les mises à jour pendant 2 heures, jeter ce qui a été trouvé : true',
    );
    assert.equal(
      actIn('de', { operation: 'apps.remove', names: { id: '{id}[{id}]$&' }, act }),
      'Die App {id}[{id}]$& entfernen',
    );
  });
});

describe('a yes', () => {
  const required = { capability: 'audio.capture', optional: false };
  const optional = { capability: 'sensors.nfc', optional: true };
  const CASES: readonly (readonly [
    title: string,
    question: Parameters<typeof yesTo>[0],
    on: readonly string[],
    allows: readonly string[],
  ])[] = [
    ['allows what is required', { kind: 'consent', what: [required, optional] }, [], ['audio.capture']],
    [
      'allows what was switched on',
      { kind: 'consent', what: [required, optional] },
      ['sensors.nfc'],
      ['audio.capture', 'sensors.nfc'],
    ],
    ['allows nothing of what is optional alone', { kind: 'consent', what: [optional] }, [], []],
    ['allows nothing that was not asked', { kind: 'consent', what: [required] }, ['network'], ['audio.capture']],
    [
      'takes a right that stands there twice for required where one place requires it',
      { kind: 'consent', what: [optional, { ...optional, optional: false }] },
      [],
      ['sensors.nfc'],
    ],
    ['to an act is one word, whatever the act gives', { kind: 'confirm', what: [required, optional] }, [], ['yes']],
    ['to a question about no right is one word', { kind: 'update', what: [] }, [], ['yes']],
  ];
  for (const [title, question, on, allows] of CASES) it(title, () => assert.deepEqual(yesTo(question, on), allows));

  it('holds each required right and no optional one that was not switched on', () => {
    const items = fc.array(fc.record({ capability: fc.constantFrom('a', 'b', 'c', 'd'), optional: fc.boolean() }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(items, fc.subarray(['a', 'b', 'c', 'd']), (what, on) => {
        const question = { kind: 'consent', what };
        const allowed = yesTo(question, on);
        for (const item of what) if (!item.optional) assert.ok(allowed.includes(item.capability));
        for (const one of allowed) {
          assert.ok(choicesOf(question).includes(one));
          assert.ok(on.includes(one) || !optionalIn(question).includes(one));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  it('is asked of an act first, which may be the answer to another question', () => {
    const kinds = ['consent', 'confirm', 'update', 'confirm'].map((kind, id) => ({ kind, id }));
    assert.deepEqual(
      inTurn(kinds).map(({ id }) => id),
      [1, 3, 0, 2],
    );
  });
});
