import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formsOf, headsOf } from '../../plugins/state/secrets/scan/forms.ts';
import { Needles } from '../../plugins/state/secrets/scan/secret-matcher.ts';
import { TextScan } from '../../plugins/state/secrets/scan/text-scan.ts';

/** What makes it hard: the signs of JSON, of regular expressions and of addresses, and what is no ASCII. */
const SECRETS: Readonly<Record<string, string>> = {
  plain: 'CNRY-7f3a9d81c2',
  'a common word': 'password',
  quotes: 'a"b"c"d"e"f',
  'the end of an object': 'abc"}\n{"level":60,"msg":"x',
  newlines: 'first line\nsecond line\r\n\tthird',
  'specials of a regular expression': '^(a+)+$.*[b]{2,}|\\d?',
  backslashes: 'C:\\new\\table\\u0041',
  'begins as an escape ends': 'nabcdefgh',
  digits: '1763912345678',
  'no ASCII': 'Grüße-日本語-🔑🔑',
  spaces: 'correct horse battery staple',
  'an address': 'https://user:pa ss@host/?a=b&c=d%20e+f',
  'of base64': 'q83vASNFZ4mrze8BI0VniQ/+ab==',
  'line separators': 'ab\u2028cd\u2029ef\u0000gh',
};

const scanOf = (...texts: string[]) => {
  const scan = new TextScan();
  texts.forEach((text, index) => {
    scan.add(`shared/s${index}`, text);
  });
  return scan;
};
const base64 = (text: string, before: string, after: string) =>
  Buffer.from(`${before}${text}${after}`).toString('base64');
const hiddenIn = (line: string, text: string) => formsOf(text).every((form) => !line.includes(form));

describe('the scan of a finished line', () => {
  for (const [what, secret] of Object.entries(SECRETS))
    it(`takes out a secret with ${what}, in each form, and the line stays JSON with all its members`, () => {
      const scan = scanOf(secret);
      const forms: Readonly<Record<string, string>> = {
        plain: secret,
        json: JSON.stringify({ a: [secret] }),
        'json in json': JSON.stringify(JSON.stringify({ secret })),
        percent: encodeURIComponent(secret),
        query: new URLSearchParams({ a: secret }).toString(),
        'small hex digits': encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
        hex: Buffer.from(secret).toString('hex'),
        HEX: Buffer.from(secret).toString('hex').toUpperCase(),
        ...Object.fromEntries(
          ['', 'x', 'xy', 'xyz'].map((before) => [`base64 behind ${before.length}`, base64(secret, before, '!')]),
        ),
        base64url: Buffer.from(`user:${secret}`).toString('base64url'),
      };
      for (const [form, text] of Object.entries(forms)) {
        const line = JSON.stringify({
          level: 30,
          time: 1_763_912_345_678,
          plugin: 'tea',
          a: { b: [text] },
          msg: `x ${text} y`,
        });
        const written = scan.line(line);
        const { level, time, plugin, a, msg } = JSON.parse(written);
        assert.deepEqual([level, time, plugin], [30, 1_763_912_345_678, 'tea'], form);
        assert.match(msg, /^x .*\[secret s0\].* y$/s, form);
        assert.match(a.b[0], /\[secret s0\]/, form);
        assert.ok(!JSON.stringify([a, msg]).includes(JSON.stringify(secret).slice(1, -1)), form);
      }
    });

  it('leaves every other line as it is, to the byte', () => {
    const scan = scanOf(...Object.values(SECRETS));
    const line = '{"level":30,"time":1, "msg":"the passwor\\u0064 is wr\\/ong","a":1e3}';
    assert.equal(scan.line(line), line);
    assert.equal(scan.line('no JSON at all'), 'no JSON at all');
  });

  it('looks into names of members and numbers, but for the time and the level', () => {
    const scan = scanOf('1763912345678', 'hostname');
    const line = { level: 30, time: 1_763_912_345_678, hostname: 'x', a: { time: 1_763_912_345_678 } };
    assert.deepEqual(JSON.parse(scan.line(JSON.stringify(line))), {
      level: 30,
      time: 1_763_912_345_678,
      '[secret s1]': 'x',
      a: { time: '[secret s0]' },
    });
  });

  it('hides the rest of a secret where a text was cut', () => {
    const scan = scanOf('CNRY-7f3a9d81c2-CNRY-7f3a9d81c2-CNRY');
    assert.equal(scan.text('x CNRY-7f3a9'), 'x [secret s0]');
    assert.equal(scan.text('x CNRY-7f3a9d81c2-CNRY-7f3a...'), 'x [secret s0]...');
    assert.equal(scan.text('x CNRY-7f3a...'), 'x [secret s0]...');
    assert.equal(scan.text('x CNRY-7f3a… and more'), 'x [secret s0]… and more');
    assert.equal(scan.text('x CNRY-7f3 and more'), 'x CNRY-7f3 and more');
  });

  it('finds the lines of a key one by one', () => {
    const lines = [
      '-----BEGIN X-----',
      'M'.repeat(20) + 'IIEvQIBADANBgkqhkiG9w0'.repeat(2),
      'short',
      '-----END X-----',
    ];
    const scan = scanOf(lines.join('\n'));
    assert.deepEqual(
      lines.map((line) => scan.text(`< ${line} >`).includes('[secret')),
      [false, true, false, false],
    );
  });

  it('takes the longest of several that begin alike, and one inside of another', () => {
    const scan = scanOf('12345678', '12345678-9', 'x-12345678-9-y');
    assert.equal(scan.text('a 12345678-9 b 12345678 c x-12345678-9-y'), 'a [secret s1] b [secret s0] c [secret s2]');
  });

  it('knows a secret from the moment on that it is told, and its old text still', () => {
    const scan = new TextScan();
    scan.add('shared/a', 'old-old-old');
    assert.equal(scan.text('old-old-old'), '[secret a]');
    scan.add('shared/a', 'new-new-new');
    assert.equal(scan.text('old-old-old new-new-new'), '[secret a] [secret a]');
  });

  it('does not look for a text of fewer than eight characters', () => {
    const scan = scanOf('ok', '1234', 'sevenss');
    assert.equal(scan.size.texts, 0);
    assert.equal(scan.text('ok 1234 sevenss'), 'ok 1234 sevenss');
  });

  it('has a bound for each scope: its oldest gives way, is counted, one that is used stays, and those of others stay', () => {
    const scan = new TextScan({ texts: 100 });
    scan.add('shared/token', 'of-the-operator');
    for (let index = 0; index < 150; index++) {
      scan.add(`app.x/s${index}`, `${index}-secret-text`);
      scan.add('app.x/s0', '0-secret-text');
    }
    const { texts, forgotten } = scan.size;
    assert.equal(texts + forgotten, 151);
    assert.ok(texts <= 101 && texts >= 76, `${texts}`);
    assert.equal(
      scan.text('0-secret-text 149-secret-text of-the-operator'),
      '[secret app.x/s0] [secret app.x/s149] [secret token]',
    );
    assert.equal(scan.text('1-secret-text'), '1-secret-text');
    const large = new TextScan({ characters: 1_000 });
    for (let index = 0; index < 10; index++) large.add(`shared/s${index}`, `${index}`.repeat(300));
    assert.ok(large.size.texts <= 3 && large.size.texts > 0);
  });

  it('stays quick where hundreds begin alike', () => {
    const scan = new TextScan();
    for (let index = 0; index < 500; index++) scan.add(`app.x/s${index}`, `password of ${index}`);
    assert.equal(scan.text('the password of 499 is it'), 'the [secret app.x/s499] is it');
    const hostile = 'password'.repeat(4_000);
    const began = process.cpuUsage();
    scan.text(hostile);
    assert.ok(process.cpuUsage(began).user < 500_000);
  });

  it('costs a few steps for each character of a line, however many begin as it does', () => {
    const line = 'a'.repeat(8_192);
    const stepsOf = (tails: readonly string[], text: string) => {
      const needles = new Needles();
      for (const [index, tail] of tails.entries())
        needles.add({ text: `aaaaaaaa${tail}`, name: `app.x/s${index}`, scope: 'app.x' });
      for (let at = 0, found = needles.find(text, 0); found; found = needles.find(text, at))
        at = found.at + found.length;
      return needles.steps / text.length;
    };
    const numbers = Array.from({ length: 500 }, (_, index) => `${index}Z`);
    assert.ok(stepsOf(numbers, line) < 30, `${stepsOf(numbers, line)}`);
    const deep = numbers.map((number, index) => `${'a'.repeat(index % 15)}${number}`);
    assert.ok(stepsOf(deep, line) < 400, `${stepsOf(deep, line)}`);
    const long = numbers.map((number) => `${'a'.repeat(80)}${number}`);
    assert.ok(stepsOf(long, line) < 100, `${stepsOf(long, line)}`);
  });

  it('keeps the newest texts of a secret that is set over and over, and counts the rest', () => {
    const scan = new TextScan();
    scan.add('app.x/other', 'another-secret');
    for (let index = 0; index < 100; index++) scan.add('app.x/token', `${index}-rotated-text`);
    assert.deepEqual(scan.size, { texts: 17, forgotten: 84 });
    assert.equal(scan.text('99-rotated-text another-secret'), '[secret app.x/token] [secret app.x/other]');
    assert.equal(scan.text('84-rotated-text'), '[secret app.x/token]');
    assert.equal(scan.text('83-rotated-text'), '83-rotated-text');
  });

  it('hides all of a long text in each form, and lays out no more than heads of it', () => {
    const long = Array.from({ length: 1_000 }, (_, index) => `${index}"ß`).join('');
    const heads = headsOf(long);
    assert.ok(heads.reduce((sum, { head }) => sum + head.length, 0) < 2_000);
    const scan = scanOf(long, `${long.slice(0, 500)}another end`);
    for (const form of [long, JSON.stringify(long).slice(1, -1), encodeURIComponent(long), base64(long, '', '')])
      assert.match(scan.text(`x ${form} y`), /^x \[secret s0\]\w?=* y$/);
    assert.equal(scan.text(`x ${long.slice(0, 500)}another end y`), 'x [secret s1] y');
    assert.equal(scan.text(`x ${long.slice(0, 700)}`), 'x [secret s0]');
  });

  it('forgets a text without a look at those of other scopes', () => {
    const scan = new TextScan({ texts: 4 });
    let asked = 0;
    scan.add('shared/token', 'of-another-scope');
    const { add } = Needles.prototype;
    Needles.prototype.add = function (told) {
      asked++;
      return add.call(this, told);
    };
    try {
      for (let index = 0; index < 40; index++) scan.add(`app.x/s${index}`, `${index}-secret-text`);
    } finally {
      Needles.prototype.add = add;
    }
    assert.equal(asked, 40);
  });

  it('is no oracle for others: no name, and nothing for a few characters of a beginning', () => {
    const scan = scanOf('sk-live-7f3a9d81c2-7f3a9d81c2-7f3a');
    assert.equal(scan.textOfOthers('x sk-live-7f3a9'), 'x sk-live-7f3a9');
    assert.equal(scan.textOfOthers('x sk-live-7f3a9...'), 'x sk-live-7f3a9...');
    assert.equal(scan.textOfOthers('x sk-live-7f3a9d81c2-7f3a9d81c2'), 'x [secret]');
    assert.equal(scan.lineOfOthers('{"a":"sk-live-7f3a9d81c2-7f3a9d81c2-7f3a"}'), '{"a":"[secret]"}');
  });

  it('takes common words of apps and plugins out of their own lines alone', () => {
    const scan = new TextScan();
    scan.add('app.com.x/a', ' was removed');
    scan.add('plugin.tea/b', 'stt-cloud');
    scan.add('shared/c', 'of the operator');
    const line = (more: object) => JSON.stringify({ level: 30, ...more, msg: 'stt-cloud was removed of the operator' });
    assert.equal(JSON.parse(scan.line(line({ plugin: 'apps' }))).msg, 'stt-cloud was removed [secret c]');
    assert.match(JSON.parse(scan.line(line({ app: 'com.x' }))).msg, /^stt-cloud\[secret app.com.x\/a\] /);
    assert.match(JSON.parse(scan.line(line({ plugin: 'tea' }))).msg, /^\[secret plugin.tea\/b\] was removed /);
    assert.equal(scan.textOfOthers('stt-cloud was removed'), '[secret][secret]');
  });

  it('does not look for names, its own least of all, nor for a part of one, whenever the name comes', () => {
    const scan = new TextScan();
    const line = (more: object) =>
      JSON.stringify({ level: 30, ...more, msg: 'CAPABILITY_DENIED for com.bank.savings' });
    scan.setNames(['CAPABILITY_DENIED']);
    scan.add('app.com.evil.kettle/a', 'com.evil.kettle');
    scan.add('app.com.evil.kettle/b', 'evil.kett');
    scan.add('app.com.evil.kettle/c', 'CAPABILITY_DENIED');
    scan.add('app.com.evil.kettle/d', 'com.bank.savings');
    scan.add('app.com.evil.kettle/e', 'of-com.bank.savings-7f3a');
    for (const more of [{ app: 'com.evil.kettle' }, { plugin: 'apps' }])
      assert.match(scan.line(line(more)), /"CAPABILITY_DENIED for \[secret app/);
    scan.setNames(['CAPABILITY_DENIED', 'com.bank.savings']);
    for (const more of [{ app: 'com.evil.kettle' }, { plugin: 'apps' }])
      assert.equal(scan.line(line(more)), line(more));
    assert.equal(scan.textOfOthers('com.bank.savings'), 'com.bank.savings');
    assert.match(scan.text('it is of-com.bank.savings-7f3a'), /^it is \[secret /);
    assert.deepEqual(scan.size, { texts: 1, forgotten: 0 });
  });

  it('any secret is hidden in any line, wherever it stands, and the line can be parsed', () => {
    const secret = fc.string({
      minLength: 8,
      maxLength: 60,
      unit: fc.oneof(fc.constantFrom(...'"\\/{}[]:,\n\ru0041'), fc.string({ minLength: 1, maxLength: 1 })),
    });
    const other = fc.string({ maxLength: 40, unit: fc.constantFrom(...'ab"\\{}[]:,\nu0041 ') });
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        other,
        other,
        fc.nat(3),
        (secrets, before, after, which) => {
          const text = secrets[which % secrets.length]!;
          const scan = scanOf(...secrets);
          const line = JSON.stringify({
            level: 30,
            time: 1,
            a: { [`${before}${text}`]: [`${before}${text}${after}`] },
            msg: JSON.stringify({ x: text }),
          });
          const { a, msg } = JSON.parse(scan.line(line));
          const [[key, [value]]] = Object.entries(a) as unknown as [[string, [string]]];
          for (const written of [key, value, msg])
            assert.ok(!written.includes(text) || `[secret s${which}]`.includes(text), written);
          return hiddenIn(value, text) || value.includes('[secret');
        },
      ),
      { numRuns: 500 },
    );
  });

  it('takes time in proportion to the length, of any text', () => {
    const scan = scanOf(...Object.values(SECRETS), 'a'.repeat(200), `${'ab'.repeat(50)}c`);
    const cost = (part: string, length: number) => {
      const text = part.repeat(length / part.length);
      const began = process.cpuUsage();
      for (let run = 0; run < 5; run++) scan.text(text);
      return process.cpuUsage(began).user;
    };
    for (const part of ['a', 'ab', 'password', 'CNRY-7f3', '"', '\\n']) {
      const ratios = [1, 2, 3].map(() => cost(part, 200_000) / (cost(part, 50_000) + 200));
      assert.ok(Math.min(...ratios) < 10, `four times ${part} take ${Math.min(...ratios)} times as long`);
    }
  });
});
