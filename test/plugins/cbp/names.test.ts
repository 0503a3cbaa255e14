/** Names in the bridge's table that are none: the endpoint is left out and told, the others work. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { componentHealth } from '../../../plugins/hardware/cbp/health.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { Lab } from '../../fixtures/bridge-lab.ts';
import { runs } from '../../fixtures/runs.ts';

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A bridge whose endpoint `spi0` has this label instead. */
async function named(label: Uint8Array, ep = 2): Promise<Lab> {
  const lab = new Lab({ host: { log } });
  Object.assign(lab.bridge.endpoints[ep]!.description, { label });
  return lab.up();
}

const NONE: readonly (readonly [what: string, label: Uint8Array, told: RegExp])[] = [
  ['nothing', Buffer.of(), /endpoint 2: it has no name/],
  ['a zero', Buffer.from('spi\0'), /invisible characters \("spi\\u0000"\)/],
  ['a line end', Buffer.from('spi\nok: 1'), /invisible characters/],
  ['an escape of the terminal', Buffer.from('\x1b[2Jspi'), /invisible characters \("\\u001b\[2Jspi"\)/],
  ['a turn of direction', Buffer.from('spi\u202e0'), /invisible characters/],
  ['a mark of byte order', Buffer.from('\ufeffspi'), /invisible characters/],
  ['a space at its end', Buffer.from('spi '), /begins or ends with a space/],
  ['65 bytes', Buffer.alloc(65, 'a'), /has 65 bytes, at most 64/],
  ['400 bytes', Buffer.alloc(400, 'a'), /has 400 bytes/],
  ['half a character', Buffer.of(0x73, 0xc3), /not UTF-8 \(73c3\)/],
  ['a surrogate', Buffer.of(0xed, 0xa0, 0x80), /not UTF-8/],
];

describe('a name in the table of the bridge', () => {
  for (const [what, label, told] of NONE)
    it(`that is ${what} leaves its endpoint out, and is told`, async () => {
      await using lab = await named(label);
      assert.deepEqual(
        lab.host.rows?.map(({ name }) => name),
        ['sys', 'gpio0', 'spi1'],
      );
      const { status, code, message } = componentHealth(lab.host);
      assert.deepEqual([status, code], ['error', 'ENDPOINT_NAME']);
      assert.match(message ?? '', told);
      assert.equal(await lab.run(lab.io.gpioRead('gpio0', 1)), 0);
      assert.equal(lab.host.link.statistics.resets, 0);
    });

  it('that two endpoints have leaves both out, as ambiguous', async () => {
    await using lab = await named(Buffer.from('spi1'));
    assert.deepEqual(
      lab.host.rows?.map(({ name }) => name),
      ['sys', 'gpio0'],
    );
    assert.match(
      componentHealth(lab.host).message ?? '',
      /endpoint 2: another one has its name.*endpoint 3: another one/,
    );
  });

  it('of SYS does not matter, and is taken from no endpoint', async () => {
    for (const label of [Buffer.of(0xff), Buffer.from('gpio0')]) {
      await using lab = await named(label, 0);
      assert.equal(lab.host.rows?.[0]?.name, 'sys');
      assert.ok((await lab.run(lab.service.statistics())).uptimeMs >= 0);
    }
    await using lab = await named(Buffer.from('sys'));
    assert.deepEqual(
      lab.host.rows?.map(({ name }) => name),
      ['sys', 'gpio0', 'spi1'],
    );
  });

  it('that is any bytes gives a name that one can print, or none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 80 }),
          fc.string({ unit: ANY_CHARACTER, maxLength: 30 }).map((text) => Buffer.from(text)),
        ),
        async (label) => {
          await using lab = await named(label);
          const names = lab.host.rows!.map(({ name }) => name);
          assert.equal(names.length + lab.host.refused.length, 4);
          assert.equal(new Set(names).size, names.length);
          for (const name of names) assert.match(name, /^[^\p{C}\p{Zl}\p{Zp}]+$/u);
          assert.ok(!/\p{Cc}/u.test(componentHealth(lab.host).message ?? ''));
        },
      ),
      { numRuns: runs(200), examples: [[Uint8Array.of(127)]] },
    );
  });
});
