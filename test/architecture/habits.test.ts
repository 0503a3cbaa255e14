/** Habits of the code that a review would ask for each time; the budgets of the rest only fall (docs/adr/0184). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');
const files = execFileSync('git', ['ls-files', 'kernel', 'plugins', 'plugin-api', 'systemd'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts'));
const lines = files.flatMap((file) =>
  readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .map((text, index) => ({ place: `${file}:${index + 1}`, text })),
);
const places = (pattern: RegExp) => lines.filter(({ text }) => pattern.test(text)).map(({ place }) => place);

test('a spread packs no members: they stand in their object, and maybe() leaves out undefined ones', () => {
  assert.deepEqual(places(/\.\.\.\(?\{ /), []);
});

for (const [habit, pattern, most] of [
  ['a spread depends on a condition', /\.\.\.\(.*(&&|\? \{)/, 342],
  ['a line is longer than 140 columns', /^.{141}/, 420],
  ['a type is forced by `as never` or `as unknown as`', /\bas (never|unknown as)\b/, 125],
] as const)
  test(`${habit} in at most ${most} lines, and in fewer after each change`, () => {
    const found = places(pattern);
    assert.ok(found.length <= most, `${found.length} lines: ${found.slice(-20).join(', ')}`);
    assert.ok(found.length > most - 12, `only ${found.length} are left: lower the budget of ${most}`);
  });

/** Lifecycle and Peer: the kernel's own budgets of lines leave no room for a second class beside them. */
const LONG_CLASSES = 2;

test(`a class has at most 300 lines, but for ${LONG_CLASSES}`, () => {
  const sizes = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    // Formatted code closes a class at the margin where it began.
    return [...text.matchAll(/^( *)(?:export )?(?:abstract )?class (\w+)[\s\S]*?\{\n[\s\S]*?^\1\}$/gm)].map(
      ([whole, , name]) => ({ name: `${file}: ${name}`, lines: whole.split('\n').length }),
    );
  });
  assert.ok(sizes.length > 300, `only ${sizes.length} classes were found`);
  const long = sizes.filter((one) => one.lines > 300).map(({ name }) => name);
  assert.equal(long.length, LONG_CLASSES, long.join(', '));
});
