/** The board of the last start is not read anew: told by the packages that a process has loaded, each start being a process of its own. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseBoard } from '../../../plugins/hardware/port-sim/sim/board.ts';

const folder = mkdtempSync(join(tmpdir(), 'dk-'));
after(() => rmSync(folder, { recursive: true }));
const SIM = new URL('../../../plugins/hardware/port-sim/sim/', import.meta.url);
const TEXT = readFileSync(new URL('boards/demo.yaml', SIM), 'utf8');
const KEPT = join(folder, '.board');
const START = `
  import { createRequire } from 'node:module';
  import { readBoard } from '${new URL('kept-board.ts', SIM)}';
  let board, failure;
  try { board = readBoard(process.argv[1], 'demo', '${folder}'); } catch (error) { failure = error.message; }
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  const packages = ['ajv', 'yaml'].filter((name) => loaded.some((file) => file.includes('/node_modules/' + name + '/')));
  console.log(JSON.stringify({ board, failure, packages }));`;

function start(text: string): { readonly board?: unknown; readonly failure?: string; readonly packages: string[] } {
  const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', START, text];
  return JSON.parse(execFileSync(process.execPath, node, { encoding: 'utf8' }));
}

test('a second start with a board loads neither the YAML parser nor Ajv, and finds the same board', () => {
  const board = JSON.parse(JSON.stringify(parseBoard(TEXT, 'demo')));
  assert.deepEqual(start(TEXT), { board, packages: ['ajv', 'yaml'] });
  assert.deepEqual(start(TEXT), { board, packages: [] });
});

test('an edited board is read, a wrong one is refused each time', () => {
  const edited = TEXT.replace(/^board: .*$/m, 'board: edited');
  assert.deepEqual(start(edited).board, JSON.parse(JSON.stringify(parseBoard(edited, 'demo'))));
  assert.deepEqual(start(edited).packages, []);
  const wrong = `${TEXT}\nunknown: 1\n`;
  for (const again of [1, 2]) assert.match(start(wrong).failure ?? '', /cannot use board/, `start ${again}`);
});

test('a copy that is damaged is made anew', () => {
  start(TEXT);
  const whole = readFileSync(KEPT, 'utf8');
  for (const damaged of [whole.replace('"gpio"', '"gpiO"'), whole.slice(0, -1), '']) {
    writeFileSync(KEPT, damaged);
    assert.deepEqual(start(TEXT).packages, ['ajv', 'yaml']);
    assert.deepEqual(start(TEXT).packages, []);
  }
});
