/** Names that an author gives in app.yaml, and others in manifests of plugins and SKUs: which characters may stand in them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { misfits } from '../../../kernel/boot/manifests.ts';
import { AppManifestReader } from '../../../plugins/apps/apps/app-manifest.ts';

const HEAD = `manifestVersion: 1
id: com.example.demo
name: demo
version: 1.0.0
`;
const TAIL = `exec: { command: node, args: [main.cjs] }
`;
const NONE = 'capabilities: []\n';
const reader = await AppManifestReader.load('1.0.0');

/** What is wrong with the text; undefined where it is taken. */
function refusal(text: string): string | undefined {
  try {
    reader.check(text, 'app.yaml');
    return undefined;
  } catch (thrown) {
    assert.ok(thrown instanceof CoreError && thrown.code === 'MANIFEST_INVALID', String(thrown));
    return thrown.message;
  }
}

const REFUSED: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ['an empty title', `title: ""\n${TAIL}${NONE}`, /app\.yaml:5 .*title must NOT have fewer than 1 characters/],
  ['a title of blanks', `title: " "\n${TAIL}${NONE}`, /app\.yaml:5 .*title must not consist of blanks alone/],
  [
    'a title of ten thousand characters',
    `title: ${'日'.repeat(10_000)}\n${TAIL}${NONE}`,
    /app\.yaml:5 .*title must NOT have more than 80 characters/,
  ],
  [
    'a title that turns its direction',
    `title: "Demo\\u202egpj"\n${TAIL}${NONE}`,
    /app\.yaml:5 .*title must have no characters that are not seen: character 5 is \\u202e/,
  ],
  ['a title in two lines', `title: "De\\nmo"\n${TAIL}${NONE}`, /app\.yaml:5 .*title .*character 3 is \\x0a/],
  [
    'an author with a colour',
    `title: Demo\nauthor: "\\x1b[31mroot"\n${TAIL}${NONE}`,
    /app\.yaml:6 .*author .*character 1 is \\x1b/,
  ],
  [
    'a licence with a window title',
    `title: Demo\nlicense: "MIT\\x9d0;x"\n${TAIL}${NONE}`,
    /app\.yaml:6 .*license .*character 4 is \\x9d/,
  ],
  [
    'a title in another language that turns',
    `title: Demo\nlocales: { ar: { title: "a\\u2066b" } }\n${TAIL}${NONE}`,
    /app\.yaml:6 .*locales\.ar\.title .*character 2 is \\u2066/,
  ],
  [
    'a description with a separator of lines',
    `title: Demo\ndescription: "a\\u2028b"\n${TAIL}${NONE}`,
    /app\.yaml:6 .*description .*character 2 is \\u2028/,
  ],
];

describe('an app.yaml is refused, with the line and the character, for', () => {
  for (const [what, text, says] of REFUSED) it(what, () => assert.match(refusal(`${HEAD}${text}`) ?? 'nothing', says));
});

describe('an app.yaml may have', () => {
  const TITLES = [
    ...[
      'Tea 2.0',
      'Žižkov',
      '日本語',
      'مدير المواعيد',
      'می\u200cخواهم',
      'क्\u200dष',
      'ภาษาไทย',
      '한국어',
      'Ελληνικά',
      'Погода',
    ],
    ...[
      '👨\u200d👩\u200d👧\u200d👦',
      '🇩🇪',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      '1\ufe0f\u20e3',
      '👍🏽',
    ],
  ];
  for (const title of TITLES)
    it(`the title and the author ${title}`, () => {
      const text = `title: ${JSON.stringify(title)}\nauthor: ${JSON.stringify(title)}\n${TAIL}${NONE}`;
      assert.equal(refusal(`${HEAD}${text}`), undefined);
    });
  it('a description and a reason in several lines', () => {
    const reason = 'capabilities:\n  - id: display.notify\n    reason: |\n      one\n      two\n';
    assert.equal(refusal(`${HEAD}title: Demo\ndescription: |\n  one\n\n  two\n${TAIL}${reason}`), undefined);
  });
});

describe('texts of others are held to the same', () => {
  const reasons = (kind: 'plugin' | 'sku', value: object) =>
    misfits(kind, value).map(({ path, reason }) => `${path.join('.')} ${reason}`);
  const PLUGIN = { id: 'kettle', version: '1.0.0', api: '^1.0.0', main: 'index.ts' };
  const page = (title: unknown) => ({ pages: [{ id: 'a', title, panels: [{ text: 'a' }] }] });
  it('in the manifest of a plugin', () => {
    for (const [more, says] of [
      [{ summary: 'boils\u202e' }, /^summary must have no characters that are not seen: character 6 is \\u202e/],
      [{ flags: { a: { type: 'boolean', default: true, description: 'a\u0007' } } }, /^flags\.a\.description .*\\x07/],
      [{ programs: [{ command: 'kettle', main: 'a.ts', summary: 'a\u2029' }] }, /^programs\.0\.summary .*\\u2029/],
    ] as const)
      assert.ok(
        reasons('plugin', { ...PLUGIN, ...more }).some((one) => says.test(one)),
        reasons('plugin', { ...PLUGIN, ...more }).join('\n'),
      );
    assert.ok(reasons('plugin', { ...PLUGIN, ...page('a\u2066') }).some((one) => /pages\.0\.title.*\\u2066/.test(one)));
    assert.ok(reasons('plugin', { ...PLUGIN, ...page({ en: 'a', de: 'a\u2066' }) }).some((one) => /\\u2066/.test(one)));
    assert.deepEqual(reasons('plugin', { ...PLUGIN, summary: '👩\u200d🚀 boils' }), []);
  });
  it('in the title of a SKU', () => {
    const sku = { skuVersion: 1, id: 'test', plugins: {} };
    assert.deepEqual(reasons('sku', { ...sku, title: '日本語 👩\u200d🚀' }), []);
    assert.match(reasons('sku', { ...sku, title: 'a\u200fb' }).join(), /^title .*character 2 is \\u200f/);
  });
});
