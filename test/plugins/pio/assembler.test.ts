/** Words of the assembler against the encoding tables of the RP2040's data sheet, section 3.4. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assemble } from '../../../plugins/hardware/pio/assembler/index.ts';

const WORDS: readonly (readonly [text: string, word: number])[] = [
  ['nop', 0xa042],
  ['jmp 3', 0x0003],
  ['jmp !x 1', 0x0021],
  ['jmp x--, 1', 0x0041],
  ['jmp !y 1', 0x0061],
  ['JMP Y-- 1', 0x0081],
  ['jmp x != y 1', 0x00a1],
  ['jmp pin 1', 0x00c1],
  ['jmp !osre 1', 0x00e1],
  ['wait 1 gpio 31', 0x209f],
  ['wait 0 pin 2', 0x2022],
  ['wait irq 3 rel', 0x20d3],
  ['in pins, 32', 0x4000],
  ['in osr, 5', 0x40e5],
  ['out pindirs, 1', 0x6081],
  ['out exec, 16', 0x60f0],
  ['push', 0x8020],
  ['push iffull noblock', 0x8040],
  ['pull', 0x80a0],
  ['pull ifempty block', 0x80e0],
  ['mov isr, ~osr', 0xa0cf],
  ['mov x, !status', 0xa02d],
  ['mov pins, ::null', 0xa013],
  ['irq 2', 0xc002],
  ['irq wait 1', 0xc021],
  ['irq clear 7 rel', 0xc057],
  ['set pindirs, 0b11 [0x1f]', 0xff83],
  ['set x, (2 + 3) * 4 - 1', 0xe033],
  ['set y, ::0x80000000 | 1 << 2', 0xe045],
  ['set y, 7 & 3 ^ 1', 0xe042],
  ['set y, -(-6) / 4 >> 0', 0xe041],
  ['.word 0xbeef', 0xbeef],
];

const FAULTS: readonly (readonly [source: string, reason: RegExp])[] = [
  ['', /no instruction/],
  ['; only a comment', /no instruction/],
  ['nop\nfoo', /line 2: "foo" is no instruction/],
  ['constructor', /"constructor" is no instruction/],
  ['set constructor, 1', /no destination of set; there are pins, x, y, pindirs/],
  ['set x, 32', /the value 32 is not within 0 and 31/],
  ['set x, 99999999999', /larger than 32 bits/],
  ['set x, 1 / 0', /divides by 0/],
  ['set x, $', /"\$" is no word/],
  ['out x, 0', /the number of bits 0/],
  ['out x', /"," is missing/],
  ['nop nop', /"nop" is too much/],
  ['nop [32]', /the delay 32/],
  ['nop [1', /"\]" is missing/],
  ['nop side 1', /without .side_set/],
  ['.side_set 2\nnop', /side is missing/],
  ['.side_set 1 opt\nnop side 1 [8]', /the delay 8 is not within 0 and 7/],
  ['.side_set 5 opt\nnop', /no bit for opt/],
  ['nop\n.side_set 1', /before the first instruction/],
  ['jmp there', /"there" is no name/],
  ['jmp y != x 1', /x is compared with y/],
  ['here: here: nop', /"here" is no instruction/],
  ['here:\nhere: nop', /"here" has a value already/],
  ['.define a b', /"b" is no name/],
  ['.program a\n.program b', /one program/],
  ['.wrap\nnop', /.wrap stands behind/],
  ['nop\n.wrap_target', /.wrap_target stands behind/],
  ['.pio_version 1', /no directive/],
  ['.origin 32\nnop', /the origin 32/],
  ['nop\n/* open', /line 2: "\*\/" is missing/],
  ['% c {\nnop', /line 1: "%}" is missing/],
  [`set x, ${'('.repeat(40)}1`, /deeper than 32/],
  ['nop\n'.repeat(33), /line 33: it is one more than 32/],
  [Array.from({ length: 257 }, (_, index) => `.define n${index} 0`).join('\n'), /more than 256 names/],
  ['x'.repeat(16_385), /longer than 16384/],
];

describe('the assembler of PIO programs', () => {
  for (const [text, word] of WORDS) it(`encodes ${text}`, () => assert.deepEqual(assemble(text).program, [word]));

  for (const [source, reason] of FAULTS)
    it(`refuses ${JSON.stringify(source.slice(0, 40))}`, () =>
      assert.throws(
        () => assemble(source),
        (error: { code: string; message: string }) => {
          assert.equal(error.code, 'PARAMS_INVALID');
          assert.match(error.message, reason);
          return true;
        },
      ));

  it('gives the registers of wrap and side set', () => {
    const { execctrl, pinctrl, origin } = assemble(
      '.origin 4\n.side_set 2 opt pindirs\nnop\n.wrap_target\nnop\n.wrap\nnop',
    );
    assert.deepEqual([execctrl >>> 0, pinctrl, origin], [0x6000_1080, 0x6000_0000, 4]);
    assert.equal(assemble('nop\nnop').execctrl, 1 << 12);
  });

  it('gives words or a refusal for any text', () => {
    const piece = fc.constantFrom(
      ...WORDS.map(([text]) => text),
      '.wrap',
      'side',
      '[',
      ']',
      '(',
      '-',
      ':',
      'a',
      '1',
      '\n',
      '/*',
      '%',
    );
    const check = (parts: readonly string[]) => {
      try {
        for (const word of assemble(parts.join(' ')).program) assert.ok(word >= 0 && word <= 0xffff);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'PARAMS_INVALID', String(error));
      }
    };
    fc.assert(fc.property(fc.array(piece, { maxLength: 60 }), check));
  });
});
