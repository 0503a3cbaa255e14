/** Secrets behind their names in running text, in the writing of many languages and programs, and what stays because it is none. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redact, redactText } from '@device-core/plugin-api/inside/redact';
import fc from 'fast-check';
import { SHAPES, WRAPPERS } from '../fixtures/log-styles.ts';

const CANARY = 'CNRY-7f3a9d81';
const H = '[redacted]';

/** Each text with what is left of it. */
const STYLES: readonly (readonly [text: string, left: string])[] = [
  // Findings.
  [`password: '${CANARY}'`, `password: '${H}'`],
  [`api_key: '${CANARY}'`, `api_key: '${H}'`],
  [`{'user': 'bob', 'api_key': '${CANARY}', 'n': 1}`, `{'user': 'bob', 'api_key': '${H}', 'n': 1}`],
  [`sid=PASSWD=${CANARY}`, `sid=PASSWD=${H}`],
  [`GET /x?next=token=${CANARY}&b=1`, `GET /x?next=token=${H}&b=1`],
  [
    `headers: [["Cookie", "sid=PASSWD=${CANARY}"], ["Accept", "*/*"]]`,
    `headers: [["Cookie", "${H}"], ["Accept", "*/*"]]`,
  ],
  // Shells and commands.
  [`export TOKEN='${CANARY}' HOME=/root`, `export TOKEN='${H}' HOME=/root`],
  [`TOKEN='it'\\''s ${CANARY}'; ls`, `TOKEN='${H}'; ls`],
  [`PGPASSWORD=${CANARY} psql`, `PGPASSWORD=${H} psql`],
  [`+ DB_PASS="a \\"${CANARY}\\"" run`, `+ DB_PASS="${H}" run`],
  [`Environment="TOKEN=two ${CANARY}"`, `Environment="TOKEN=${H}"`],
  [`$env:TOKEN = "${CANARY}"`, `$env:TOKEN = "${H}"`],
  [`run --password 'a ${CANARY} b' -t x`, `run --password '${H}' -t x`],
  [`run -token ${CANARY} -t x`, `run -token ${H} -t x`],
  [`['mosquitto_sub', '--password', '${CANARY}']`, `['mosquitto_sub', '--password', '${H}']`],
  [`curl -H 'Authorization: Token ${CANARY}' https://x`, `curl -H 'Authorization: ${H}' https://x`],
  // Headers, whole and folded.
  [`Authorization: Digest username="bob", response="${CANARY}", x=1`, `Authorization: ${H}`],
  [`Proxy-Authorization: AWS4 Credential=A, Signature=${CANARY}\nHost: x`, `Proxy-Authorization: ${H}\nHost: x`],
  [`> X-Api-Key: two ${CANARY}\r\n> Host: x`, `> X-Api-Key: ${H}\r\n> Host: x`],
  [`Authorization: Digest a=b,\r\n  response=${CANARY}\r\nHost: x`, `Authorization: ${H}\r\nHost: x`],
  [`Set-Cookie: "a"; b=${CANARY}; Path=/`, `Set-Cookie: ${H}`],
  [`got Cookie: a=b; c=${CANARY}`, `got Cookie: ${H}`],
  [`rawHeaders: ['Host', 'x', 'X-Api-Key', '${CANARY}']`, `rawHeaders: ['Host', 'x', 'X-Api-Key', '${H}']`],
  [`[(b'cookie', b'a=${CANARY}')]`, `[(b'cookie', b'${H}')]`],
  // Addresses.
  [`mqtt://user:a@${CANARY}@host/x`, `mqtt://${H}@host/x`],
  [`/cb?to=%2Fx%3Ftoken%3D${CANARY}%26a%3D1&n=1`, `/cb?to=%2Fx%3Ftoken%3D%5Bredacted%5D%26a%3D1&n=1`],
  [`{"q":"a=1\\u0026token=${CANARY}"}`, `{"q":"a=1\\u0026token=${H}"}`],
  [`token\\u003d${CANARY}`, `token\\u003d${H}`],
  [`user[password]=${CANARY}&x=1`, `user[password]=${H}&x=1`],
  // Quotes: escaped, mixed, of other writings, without an end.
  [
    `{"a":"{\\"password\\":\\"x \\\\\\"${CANARY}\\\\\\"\\",\\"n\\":1}"}`,
    `{"a":"{\\"password\\":\\"${H}\\",\\"n\\":1}"}`,
  ],
  [`password: "it's ${CANARY}"`, `password: "${H}"`],
  [`password="line 1\n${CANARY}\nline 3" n=1`, `password="${H}" n=1`],
  [`password="""a\n${CANARY}\n""" n=1`, `password="""${H}""" n=1`],
  [`password='no end ${CANARY}\nnext line`, `password='${H}\nnext line`],
  [`&quot;password&quot;:&quot;${CANARY}&quot;`, `&quot;password&quot;:&quot;${H}&quot;`],
  [`{"password": "cut ${CANARY}`, `{"password": "${H}`],
  // Words without quotes.
  [`password=a,${CANARY} n=1`, `password=${H} n=1`],
  [`password=a(${CANARY}, user=bob`, `password=${H}`],
  [`password=a)${CANARY}, user=bob`, `password=${H}, user=bob`],
  [`Config(token=${CANARY}, user=bob)`, `Config(token=${H}, user=bob)`],
  [`User{name=bob, password=${CANARY}}`, `User{name=bob, password=${H}}`],
  [`{Password:${CANARY} User:bob}`, `{Password:${H} User:bob}`],
  [`map[password:${CANARY} user:bob]`, `map[password:${H} user:bob]`],
  [`[wifi]\npsk = three words ${CANARY}\nssid = home`, `[wifi]\npsk = ${H}\nssid = home`],
  [`passphrase: correct horse ${CANARY}\nn: 1`, `passphrase: ${H}\nn: 1`],
  [`API key: ${CANARY}`, `API key: ${H}`],
  [`passwort: ${CANARY}`, `passwort: ${H}`],
  [`password2=${CANARY}`, `password2=${H}`],
  [`\u001b[36mtoken\u001b[0m=${CANARY} n=1`, `\u001b[36mtoken\u001b[0m=${H} n=1`],
  // Structures below a name.
  [`{auth: {user: bob, value: ${CANARY}}, b: 1}`, `{auth: ${H}, b: 1}`],
  [`"tokens": ["${CANARY}", "x"], "b": 1`, `"tokens": "${H}", "b": 1`],
  [`auth: Credentials {\n  user: 'x',\n  value: '${CANARY}'\n}\nnext`, `auth: ${H}\nnext`],
  [`auth: [Object: null prototype] { a: '${CANARY}' } next`, `auth: ${H} next`],
  [`token: Some("${CANARY}"), n: 1`, `token: ${H}, n: 1`],
  [`["password"]=>\n  string(4) "${CANARY}"`, `["password"]=>\n  string(4) "${H}"`],
  [`auth:\n  user: bob\n  value: ${CANARY}\nnext: 1`, `auth:\n  ${H}\nnext: 1`],
  [`tokens:\n- ${CANARY}\n- x\nnext: 1`, `tokens:\n${H}\nnext: 1`],
  [`- name: DB_PASSWORD\n  value: ${CANARY}\n`, `- name: DB_PASSWORD\n  value: ${H}\n`],
  [`<add key="password" value="${CANARY}"/>`, `<add key="password" value="${H}"/>`],
  [`<password>${CANARY}</password>`, `<password>${H}</password>`],
  [`token: <Buffer ${CANARY}>`, `token: ${H}`],
];

/** Lines as a device, its apps and tools write them. */
const ORDINARY = `
12:00:01 info core: the plugin display is active after 120 ms
level=info ts=2026-11-28T12:00:00Z msg="started worker" id=42 port=8080 path=/health
GET /health?verbose=true&x=1 200 12 ms
{"level":30,"time":1763791234567,"pid":2,"msg":"hello world","req":{"url":"/x?a=1","headers":{"host":"a","accept":"*/*"}}}
usage: prompt_tokens=120 completion_tokens=30 total_tokens=150
tokens: 120, words: 90
the token of the app is void
cannot use token: expired
wrong password: try again
password: must be a string
token: the app has none
the secret "cloud.token" is not set
SECRET_DENIED: plugin.a may not read secret b
cannot read /run/credentials/token: ENOENT, no such file
at Object.run (file:///srv/plugins/secret.ts:12:3)
Basic authentication is off, digest computation took 3 ms
usage: devicectl login --token <TOKEN> [--user NAME]
--token is required
scope token:read token:write
auth::token::Reader in module auth
secret://cloud.token is a reference
"required": ["user", "password"]
words: ['password', 'token']
{"password": null, "token": "", "auth": true, "secrets": [], "signatures": "required"}
{ secret: stt.key }
headers: { authorization: { secret: telemetry.key } }
Authorization: expired
[auth] info: session 12 opened for bob
sshd[12]: pam_unix(sshd:auth): authentication failure; logname= uid=0
monkey=see compass: north spin=left mapping: {a: b}
the key of the session: 5 minutes
http://127.0.0.1:55280/@scope/package?version=1
npm http fetch GET 200 https://registry.example/@types%2fnode 20ms
password=[redacted] token: [secret cloud.token] Cookie: [redacted]
`
  .trim()
  .split('\n');

/** Parts that a hostile line repeats. */
const HOSTILE = [
  ...[
    '"',
    "'",
    '\\',
    '\\"',
    '=',
    ':',
    '{',
    '[',
    '}',
    '<',
    '%41',
    'token',
    'token=',
    'token="',
    "token='",
    'token={',
    'token=[',
  ],
  ...[
    'token:\n',
    'token:\n ',
    '"token":',
    '"token"',
    'token=\\"',
    '{token:',
    'token=a,',
    'token=a&',
    '<token>',
    '<token',
    'token%41',
  ],
  ...[
    'name: "token"',
    'cookie=a;',
    'x-api-key: ="',
    'token: \\n',
    'api key',
    '`token`:`',
    '--token ',
    'token(',
    'token=f(',
  ],
  ...['password: |\n  a\n', 'secret:{secret:', '\u001b[1mtoken', 'authorization: a\n b\n', "token='\\''"],
];

const NAMES = [
  ...[
    'password',
    'api_key',
    'accessToken',
    'X-Api-Key',
    'CLIENT_SECRET',
    'wifi.psk',
    'Authorization',
    'db_passwd2',
    'Set-Cookie',
  ],
];
/** A canary in the middle of what makes quotes and delimiters difficult. */
const AROUND: readonly (readonly [before: string, behind: string])[] = [
  ...([
    ['', ''],
    ['a ', ' b'],
    ["it's ", ''],
    ['say "', '"'],
    ['x=', '&y'],
    ['{', '}'],
    ['', '\\'],
  ] as const),
  ...([
    ['p@ss,', ';z'],
    ['two\nlines ', ''],
    ["'", "'"],
    ['\\"', '\\"'],
    ['a, b: ', '), c'],
  ] as const),
];

describe('a secret behind its name', () => {
  for (const [text, left] of STYLES)
    it(`is hidden in ${JSON.stringify(text)}`, () => {
      assert.equal(redactText(text), left);
      assert.equal(redactText(left), left);
    });

  it('is hidden in every shape, in any text around it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(SHAPES)),
        fc.array(fc.constantFrom(...Object.keys(WRAPPERS)), { maxLength: 2 }),
        fc.constantFrom(...NAMES),
        fc.constantFrom(...AROUND),
        (shape, wrappers, name, [before, behind]) => {
          const inner = SHAPES[shape]!(name, `${before}${CANARY}${behind}`);
          const text = wrappers.reduce((all, one) => WRAPPERS[one]!(all), inner);
          const left = redactText(text);
          assert.ok(!left.includes('7f3a9d81'), `${text}\n${left}`);
          assert.equal(redactText(left), left);
        },
      ),
      { numRuns: 1_500 },
    );
  });

  it('leaves a line of JSON one, with any text behind the name', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.jsonValue({ maxDepth: 2 }), (name, value) => {
        const line = JSON.stringify({ level: 30, [name]: value, inner: JSON.stringify({ [name]: value }), msg: 'x' });
        const { level, inner, msg } = JSON.parse(redactText(line));
        assert.deepEqual([level, msg, typeof JSON.parse(inner)], [30, 'x', 'object']);
      }),
    );
  });

  it('is hidden in values of a log, where only the structure says what it belongs to', () => {
    const values: readonly (readonly [value: unknown, left: unknown])[] = [
      [[['Cookie', `sid=PASSWD=${CANARY}`]], [['Cookie', H]]],
      [
        ['Cookie', `sid=PASSWD=${CANARY}`],
        ['Cookie', H],
      ],
      [[['password', 'secret']], [['password', H]]],
      [
        ['run', '--password', CANARY, '-t', 'x'],
        ['run', '--password', H, '-t', 'x'],
      ],
      [
        ['run', '--password', '--force', 'x'],
        ['run', '--password', '--force', 'x'],
      ],
      [
        { name: 'Cookie', value: `PASSWD=${CANARY}` },
        { name: 'Cookie', value: H },
      ],
      [
        {
          key: 'mqtt.password',
          value: CANARY,
          layers: [{ source: 'device', value: CANARY }, { value: [CANARY] }],
          running: CANARY,
        },
        { key: 'mqtt.password', value: H, layers: [{ source: 'device', value: H }, { value: H }], running: H },
      ],
      [
        { key: 'wifi.psk', schema: { type: 'string', default: CANARY }, layers: [{ value: 12, misfit: CANARY }] },
        { key: 'wifi.psk', schema: { type: 'string', default: H }, layers: [{ value: 12, misfit: H }] },
      ],
      [
        { key: 'auth', parts: [{ key: 'user', value: 'bob' }, { value: CANARY }] },
        { key: 'auth', parts: [{ key: 'user', value: 'bob' }, { value: H }] },
      ],
      [
        { accesstoken: CANARY, password2: CANARY },
        { accesstoken: H, password2: H },
      ],
    ];
    for (const [value, left] of values) {
      assert.deepEqual(redact(value), left);
      assert.deepEqual(redact(left), left);
    }
  });
});

describe('texts without a secret', () => {
  for (const line of ORDINARY) it(`stays in ${JSON.stringify(line)}`, () => assert.equal(redactText(line), line));

  it('stays in any text that has no word of a secret and no form of one', () => {
    const part = fc.oneof(
      fc.stringMatching(/^[b-df-hj-mq-rv-z ]{0,8}$/),
      fc.constantFrom(
        ...['=', ':', ': ', '"', "'", '{', '}', '[', ']', ',', '\\', '\n', '--x ', '%22', '&', '<b>', '\\n', '`'],
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const text = parts.join('');
        assert.equal(redactText(text), text);
      }),
    );
  });
});

describe('a hostile line', () => {
  it('takes time in proportion to its length, and of 1 MiB no more than of the part that is read', () => {
    for (const part of HOSTILE) {
      const text = part.repeat(Math.ceil((1 << 20) / part.length));
      const began = process.cpuUsage();
      const left = redactText(text);
      const { user, system } = process.cpuUsage(began);
      assert.ok((user + system) / 1_000 < 400, `${JSON.stringify(part)} took ${(user + system) / 1_000} ms`);
      assert.ok(left.length < 400_000);
    }
  });

  it('never ends in an error, and the rest of a text stays as it is', () => {
    const part = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 6 }));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const left = redactText(parts.join(''));
        assert.equal(typeof left, 'string');
      }),
      { numRuns: 500 },
    );
  });
});
