/** Rules of a SKU: they reach whatever the Core writes, whoever said it, and one that takes too long is refused. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { redact, redactText, useRedaction } from '@device-core/plugin-api/inside/redact';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../../fixtures/core.ts';

after(leakCheck());

/** By what is wrong with it. */
const REFUSED: Readonly<Record<string, string>> = {
  'a group that repeats itself': '(a+)+$',
  'a choice that repeats itself': '(a|a){1,200}b',
  'a repetition without an end': 'KD-\\d+',
  'an end that is none': 'x{3,}',
  'one that is far away': 'x{1,9999}',
  'two that share their characters': '\\w{1,100}\\w{1,100}x',
  'a group in a group': '(([a-z]{1,20}){1,20}){1,20}',
  'a reference back': '(a)\\1',
  'a look ahead': '(?=a)b',
  'a look behind': '(?<=a)b',
  'a property of Unicode': '\\p{L}{1,3}',
  'the empty text': 'a{0,3}',
  'the edge of a word alone': '\\b',
  'an open bracket': '[a',
  'an open parenthesis': '(a',
  'one that is closed twice': 'a)',
  'a lone sign': '*a',
  'a range that is turned around': '[z-a]{1,3}',
  'far too many groups': `${'('.repeat(20)}a${')'.repeat(20)}`,
};

describe('rules of a SKU', () => {
  it('hide names and texts while they are in use', () => {
    const value = { customerNumber: 4711, 'X-Customer-Numbers': ['a'], number: 3, text: 'it is KD-12345678, or kd-1' };
    const rules = {
      names: ['customer number'],
      texts: [{ name: 'customer number', pattern: 'KD-\\d{8}' }],
    };
    {
      using _ = useRedaction(rules);
      assert.deepEqual(redact(value), {
        customerNumber: '[redacted]',
        'X-Customer-Numbers': '[redacted]',
        number: 3,
        text: 'it is [redacted], or kd-1',
      });
    }
    assert.deepEqual(redact(value), value);
  });

  it('may leave the case open, and have groups and choices', () => {
    using _ = useRedaction({
      texts: [
        { name: 'IBAN', pattern: '\\b[A-Z]{2}\\d{2}(?: ?\\d{4}){3,7}\\b' },
        { name: 'mail', pattern: '[\\w.]{1,40}@[\\w.-]{1,40}', ignoreCase: true },
      ],
    });
    assert.equal(redactText('DE02 1203 0000 0000 2020 51 to me.too@example.com!'), '[redacted] 51 to [redacted]!');
  });

  for (const [what, pattern] of Object.entries(REFUSED))
    it(`are refused with ${what}, and then none is used`, () => {
      assert.throws(
        () => useRedaction({ names: ['tea'], texts: [{ name: 'mine', pattern }] }),
        (error) => error instanceof CoreError && error.code === 'PARAMS_INVALID' && error.message.includes('"mine"'),
      );
      assert.deepEqual(redact({ tea: 'x' }), { tea: 'x' });
    });

  it('take no more than a moment, for any text', () => {
    using _ = useRedaction({ texts: [{ name: 'worst', pattern: '\\w{1,44}\\w{1,44}!' }] });
    const began = process.cpuUsage();
    redactText('a'.repeat(64 << 10));
    assert.ok(process.cpuUsage(began).user < 3_000_000);
  });

  it('reach the log of the Core, and a plugin that has a bad one fails and says which', async () => {
    const texts = [{ name: 'customer number', pattern: 'KD-\\d{8}' }];
    await using core = await startCore({ plugins: { redaction: '^1.0.0' }, config: { redaction: { texts } } });
    core.kernel.parts.log.child({ plugin: 'tea' }).info({ err: new Error('for KD-12345678') }, 'of KD-12345678');
    const log = readFileSync(join(core.paths.var, 'log/core.log'), 'utf8');
    assert.match(log, /of \[redacted\]/);
    assert.ok(!log.includes('KD-1'));
    const bad = [{ name: 'bad', pattern: '(a+)+' }];
    await using other = await startCore({ plugins: { redaction: '^1.0.0' }, config: { redaction: { texts: bad } } });
    const [{ state, reason } = assert.fail()] = (await other.kernel.status()).plugins;
    assert.equal(state, 'failed');
    assert.match(String(reason), /the rule "bad".*has no end/);
  });
});
