import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { CoreError, Secret } from '@device-core/plugin-api';
import { redact, redactText } from '@device-core/plugin-api/inside/redact';
import fc from 'fast-check';

const CANARY = 'CNRY-7f3a9d81';

/** Every place where a secret was found in a log in clear, and its relatives. */
const PLACES: Readonly<Record<string, unknown>> = {
  'a member': { token: CANARY },
  'a member of several words': { accessToken: CANARY, 'x-api-key': CANARY, CLIENT_SECRET: CANARY, wifiKey: CANARY },
  'short names': { pwd: CANARY, passwd: CANARY, psk: CANARY, pass: CANARY, pin: CANARY, otp: CANARY },
  'an object below a name': { auth: { user: 'me', value: CANARY } },
  'a list below a name': { auth: [CANARY, 'b'] },
  'a query': { url: `/call?a=1&access_token=${CANARY}&b=2` },
  'a user and a password in an address': { url: `mqtt://user:${CANARY}@broker:1883/x` },
  'JSON inside of a text': { body: `{"user":"me","password":"${CANARY}"}` },
  'JSON inside of JSON': { body: JSON.stringify(JSON.stringify({ password: CANARY })) },
  'pairs of headers': {
    headers: [
      ['Authorization', CANARY],
      ['Accept', '*/*'],
    ],
  },
  'raw headers': { rawHeaders: ['Host', 'x', 'X-Api-Key', CANARY] },
  'a name and a value': { headers: [{ name: 'cookie', value: CANARY }] },
  'a map': { headers: new Map([['authorization', CANARY]]) },
  'a set': { all: new Set([`password=${CANARY}`]) },
  'an environment': { env: `PATH=/bin NAME_TOKEN=${CANARY} HOME=/root` },
  'a command line': { args: `mosquitto_sub --password ${CANARY} -t x` },
  'a header in a text': { text: `sent Authorization: ${CANARY} to the host` },
  'a cookie in a text': { text: `Set-Cookie: sid=${CANARY}; Path=/` },
  'a header behind a code': { text: `SECRET_DENIED: token: ${CANARY}` },
  'a name that is nearly a code': { text: `MY_SECRET_DENIED_TOKEN: ${CANARY}` },
  'a scheme in a text': { text: `with Bearer ${CANARY}` },
  'a JSON Web Token': { text: `got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${CANARY}` },
  'a key in PEM': { text: `-----BEGIN PRIVATE KEY-----\n${CANARY.replaceAll('-', '')}\n-----END PRIVATE KEY-----` },
  'a key of a known form': { text: `use sk-${CANARY}abcdef` },
  'a signature': { signature: `MEUCIQ${CANARY}`, signatures: [CANARY] },
  'a secret beside its version': { secrets: '^1.0.0', secret: CANARY, text: `{ secret: ${CANARY} }` },
  'what only begins as a reference': { text: `secret: stt.${CANARY}, { secret: stt.${CANARY}.x, y: 1 }` },
  'the text of an error': new Error(`login with password=${CANARY} failed`),
  'the cause of an error': new Error('x', { cause: new Error(`https://a:${CANARY}@b/`) }),
  'the details of an error': new CoreError('INTERNAL', { what: 'x', details: { clientSecret: CANARY } }),
};

/** What is no secret and has to stay readable. */
const PLAIN: readonly unknown[] = [
  { tokens: 120, passwordLength: 12, tokenCount: '3', secret: true },
  { monkey: 'see', compass: 'north', spin: 'left', pinned: 'yes', tokenizer: 'x' },
  { key: 'display.brightness', value: 3 },
  { file: 'plugins/voice/speech/chain.ts:12:3', ts: 1763791234567 },
  { text: 'the token of the app is void' },
  { text: 'cannot use token: expired' },
  { text: 'SECRET_DENIED: plugin.a may not read secret b' },
  { text: 'it said SECRETS_LOCKED: VAULT_KEY_MISSING' },
  { text: 'http://127.0.0.1:55280/health?verbose=true' },
  { text: 'at Object.run (file:///x/y.ts:10:5)' },
  { words: ['password', 'token'] },
  { number: '1763791234567890' },
  { signatures: 'required', signature: 'off' },
  { requires: { secrets: '^1.0.0', 'secret-scan': '~1.2.0' }, provides: { secrets: '1.0.0' } },
  { text: '{"signatures":"warn","requires":{"secrets":"^1.0.0"}}' },
  { text: 'secrets: ^1.0.0, --signatures required' },
  { text: 'reference to the secret with the key, `{ secret: stt.key }`; none without it' },
  { text: 'it takes a reference: { secret: NAME }' },
];

describe('lines of a log', () => {
  for (const [place, value] of Object.entries(PLACES))
    it(`hides a secret in ${place}`, () => {
      const written = JSON.stringify(redact(value));
      assert.ok(!written.includes(CANARY) && !written.includes(CANARY.replaceAll('-', '')), written);
      assert.match(written, /\[redacted\]/);
    });

  for (const value of PLAIN)
    it(`leaves ${JSON.stringify(value)} as it is`, () => assert.deepEqual(redact(value), value));

  it('hides the number of a PIN and of a card, no other', () => {
    assert.deepEqual(redact({ pin: 1234, volume: 7 }), { pin: '[redacted]', volume: 7 });
    assert.equal(redactText('card 4111 1111 1111 1111.'), 'card [redacted].');
    assert.equal(redactText('card 4111 1111 1111 1112'), 'card 4111 1111 1111 1112');
    assert.equal(redactText('{"pin": 1234}'), '{"pin": "[redacted]"}');
  });

  it('shows a reference by its name and a secret object by its own, and hides what only looks like a reference', () => {
    const secret = new Secret('cloud.token', async () => CANARY);
    assert.deepEqual(
      redact({ token: { secret: 'cloud.token' }, secret, all: [secret], auth: { secret: 'hunter2-x' } }),
      {
        token: '[ref cloud.token]',
        secret: '[secret cloud.token]',
        all: ['[secret cloud.token]'],
        auth: '[redacted]',
      },
    );
    assert.equal(
      redact({ secret: 'a.b', other: 1 }) && JSON.stringify(redact({ secret: CANARY, other: 1 })),
      '{"secret":"[redacted]","other":1}',
    );
  });

  it('does not throw, and says what cannot be read', () => {
    const trap = new Proxy({}, { ownKeys: () => assert.fail('trapped') });
    const getter = {
      get a() {
        return assert.fail('no');
      },
      b: 1,
    };
    const circle: Record<string, unknown> = { a: 1 };
    circle.self = [circle];
    const values: [value: unknown, shown: unknown][] = [
      [trap, '[unreadable]'],
      [getter, { a: '[unreadable]', b: 1 }],
      [circle, { a: 1, self: ['[circle]'] }],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      [new Date(Number.NaN), 'Invalid Date'],
      [new URL(`http://u:${CANARY}@h/?token=${CANARY}`), 'http://[redacted]@h/?token=[redacted]'],
      [new ArrayBuffer(8), '[8 bytes]'],
      [
        { same: [getter, getter] },
        {
          same: [
            { a: '[unreadable]', b: 1 },
            { a: '[unreadable]', b: 1 },
          ],
        },
      ],
    ];
    for (const [value, shown] of values) assert.deepEqual(redact(value), shown);
  });

  it('has an end, and says how much is left out', () => {
    assert.equal((redact(new Array(1_000_000).fill(1)) as unknown[]).at(-1), '[999900 more]');
    assert.equal((redact(new Set(Array.from({ length: 300 }, (_, i) => i))) as unknown[]).at(-1), '[200 more]');
    const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, i]));
    assert.equal((redact(members) as Record<string, unknown>)['...'], '9500 more');
    let wide: unknown = 1;
    for (let depth = 0; depth < 8; depth++) wide = new Array(100).fill(wide);
    assert.ok(JSON.stringify(redact(wide)).length < 1_000_000, '100 to the power of 8 would take a year');
  });

  it('says which name it hid', () => {
    assert.equal(redactText('a=1&token=abc&b=2'), 'a=1&token=[redacted]&b=2');
    assert.equal(redactText('{"a":"b","secret":"c\\"d","e":1}'), '{"a":"b","secret":"[redacted]","e":1}');
  });

  it('ends for every value, and what it gives can be written', () => {
    fc.assert(
      fc.property(fc.anything({ withMap: true, withSet: true, withBigInt: true }), (value) => {
        JSON.stringify(redact(value));
      }),
      { numRuns: 200 },
    );
  });

  it('names keys of a map that have no text of their own', () => {
    assert.deepEqual(
      redact(
        new Map<unknown, unknown>([
          [{ toString: 1 }, 'x'],
          [Symbol('s'), 1n],
        ]),
      ),
      {
        '[object]': 'x',
        'Symbol(s)': '1',
      },
    );
  });

  it('takes time in proportion to the length of a text, of any contents', () => {
    const hostile = ['a', '"', 'x=', '\\"a', '://', '-----BEGIN ', '4111 ', 'a:b@', '--x ', 'cookie: '];
    const cost = (part: string, length: number) => {
      const text = part.repeat(length / part.length);
      const began = process.cpuUsage();
      for (let run = 0; run < 20; run++) redactText(text);
      return process.cpuUsage(began).user;
    };
    for (const part of hostile) {
      const ratios = [1, 2, 3].map(() => cost(part, 60_000) / (cost(part, 15_000) + 1));
      assert.ok(
        Math.min(...ratios) < 10,
        `four times ${JSON.stringify(part)} take ${Math.min(...ratios)} times as long`,
      );
    }
  });
});

describe('docs/redaction.md', () => {
  const page = readFileSync(new URL('../../docs/redaction.md', import.meta.url), 'utf8');
  const lineWith = (begin: string): string => page.split('\n').find((line) => line.includes(begin)) ?? '';
  const codesOf = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
  const isHidden = (name: string): boolean =>
    !JSON.stringify(redact({ [name]: CANARY })).includes(CANARY) && !redactText(`${name}=${CANARY}`).includes(CANARY);

  it('lists names whose values are hidden, with their plurals', () => {
    const names = codesOf(lineWith('- `token`')).filter((name) => name !== 'pass');
    assert.ok(names.length > 15);
    const shown = names.flatMap((name) => [name, `${name}s`]).filter((name) => !isHidden(name));
    assert.deepEqual(shown, []);
  });

  it('lists words that make a key a secret, as words of a name', () => {
    const words = codesOf(lineWith('- `key` behind').split(', as')[0]!).slice(1);
    assert.ok(words.length > 10);
    const names = words.flatMap((word) => [`${word}_key`, `${word}Key`, `my-${word}-keys`]);
    assert.deepEqual(
      names.filter((name) => !isHidden(name)),
      [],
    );
  });

  it('lists endings of names that say something about a secret', () => {
    const endings = codesOf(lineWith('A name that ends with'));
    assert.ok(endings.length > 8);
    assert.deepEqual(
      endings.filter((ending) => isHidden(`token_${ending}`)),
      [],
    );
  });

  it('lists beginnings of keys that are hidden without a name', () => {
    const beginnings = codesOf(lineWith('keys that begin with')).filter((code) => !code.startsWith('Bearer'));
    assert.ok(beginnings.length > 5);
    const shown = beginnings.filter((begin) => redactText(`use ${begin}a1b2c3d4e5f6-x`).includes('a1b2c3'));
    assert.deepEqual(shown, []);
  });

  for (const line of ['run -p hunter2x', 'cannot use token: expired', 'the password hunter2', 'X-Request-Id: 4a5b 6c'])
    it(`says that ${line} stays`, () => assert.equal(redactText(line), line));

  it('says that a text ends behind 64 KiB', () => {
    assert.equal(redactText('x'.repeat((64 << 10) + 9)), `${'x'.repeat(64 << 10)}...`);
  });
});
