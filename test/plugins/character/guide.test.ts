/** The example of the guide is a character, and its complaint is what the device says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readCharacter } from '@device-core/plugin-api/inside/character/read';
import { CHARACTER_STATES, characterNodes, EXPRESSIONS, MOUTHS } from '@device-core/plugin-api/scene';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/character.md'), 'utf8');
const [, example = ''] = /```yaml\n(character: 1\n[\s\S]*?)```/.exec(guide) ?? [];
const [, complaint = ''] = /```text\n(.*)\n```/.exec(guide) ?? [];
const FILE = '/etc/device-core/characters/dot/character.yaml';

describe('the guide to characters', () => {
  it('has an example that can be shown, and looks different in each state, expression and mouth', () => {
    const spec = readCharacter(example, FILE);
    const shown = new Set<string>();
    const look = (state: (typeof CHARACTER_STATES)[number], expression: (typeof EXPRESSIONS)[number], mouth?: never) =>
      shown.add(JSON.stringify(characterNodes(spec, { state, expression, mouth, at: 777, since: 0, w: 300, h: 300 })));
    for (const state of CHARACTER_STATES) look(state, 'neutral');
    for (const expression of EXPRESSIONS.slice(1)) look('idle', expression);
    for (const mouth of MOUTHS.slice(1)) look('speaking', 'neutral', mouth as never);
    assert.equal(shown.size, CHARACTER_STATES.length + EXPRESSIONS.length - 1 + MOUTHS.length - 1);
  });

  it('shows the complaint as it is told', () => {
    const wrong = example.replace(/(id: mouth,.*)fill:/, '$1fil:');
    assert.notEqual(wrong, example);
    assert.throws(() => readCharacter(wrong, FILE), { message: complaint });
  });
});
