/** Colours and letters that people can read. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { COLOUR_TOKENS, contrast, GRID, SCENE_LIMITS, TEXT_PAIRS, THEMES, TYPE } from '@device-core/plugin-api/scene';

/** WCAG 2.2, success criterion 1.4.3. */
const LEAST = 4.5;
/** Signs, switches and outlines: criterion 1.4.11. */
const LEAST_SIGN = 3;

suite('themes', () => {
  for (const { id, colours } of THEMES) {
    for (const [ground, text] of TEXT_PAIRS)
      test(`${id}: ${text} on ${ground} can be read`, () => {
        const ratio = contrast(colours[ground], colours[text]);
        assert.ok(ratio >= LEAST, `${ratio.toFixed(2)} is less than ${LEAST}`);
      });
    test(`${id}: the face of the character is seen on it, and it on the ground`, () => {
      for (const [one, other] of [
        ['character', 'character-face'],
        ['background', 'character'],
      ] as const)
        assert.ok(contrast(colours[one], colours[other]) >= LEAST_SIGN, `${one} and ${other}`);
    });
    test(`${id} has a colour for each name`, () => {
      assert.deepEqual(Object.keys(colours).sort(), [...COLOUR_TOKENS].sort());
      for (const value of Object.values(colours)) assert.match(value, /^#([0-9a-f]{6}|[0-9a-f]{8})$/);
    });
  }

  test('high contrast has seven to one where the others have four and a half', () => {
    const theme = THEMES.find(({ id }) => id === 'contrast');
    assert.ok(theme);
    for (const [ground, text] of TEXT_PAIRS) {
      const ratio = contrast(theme.colours[ground], theme.colours[text]);
      assert.ok(ratio >= 7, `${text} on ${ground}: ${ratio.toFixed(2)}`);
    }
  });

  test('letters are in steps that can be told apart, on lines that hold them; nothing is smaller than 26 units', () => {
    const sizes = Object.values(TYPE);
    for (const [index, { size, line }] of sizes.entries()) {
      assert.ok(line >= size, `${size} on ${line}`);
      const smaller = sizes[index + 1];
      if (smaller) assert.ok(size > smaller.size, `${size} and ${smaller.size}`);
    }
    assert.ok(Math.min(...sizes.map(({ size }) => size)) >= 26);
  });

  test('the grid has one unit', () => {
    for (const value of [GRID.margin, GRID.gap, GRID.target, GRID.radiusSmall]) assert.equal(value % GRID.unit, 0);
    assert.equal(GRID.target, SCENE_LIMITS.target);
  });
});
