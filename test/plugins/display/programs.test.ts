/** devicectl display show, devicectl display screenshot. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Program, ProgramClient, ProgramContext } from '@device-core/plugin-api/program';
import { program as screenshot } from '../../../plugins/display/display/program/screenshot.ts';
import { program as show } from '../../../plugins/display/display/program/show.ts';
import { program as text } from '../../../plugins/display/display/program/text.ts';
import { png } from '../../fixtures/grey-png.ts';

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'dd-'));

  file(name: string, text?: string): string {
    const path = join(this.path, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

async function run<A>(program: Program<A>, args: A, json = false) {
  const printed: string[] = [];
  const sent: { readonly path: string; readonly body?: object }[] = [];
  const client = {
    async get(path: string) {
      sent.push({ path });
      const body = { png: png().toString('base64'), text: ['\u2068Tea\u2069', '[Ready]\u001b[31m'] };
      return { status: 200, text: '', body };
    },
    async put(path: string, body: object) {
      sent.push({ path, body });
      return { status: 200, text: '{"ok":true}', body: { state: 'foreground', version: 3 } };
    },
  } as unknown as ProgramClient;
  const out = { json, line: async (text: string) => void printed.push(text) };
  await program.run({ client, out, args } as unknown as ProgramContext<A>);
  return { printed, sent };
}

test('a file is shown as what it is, a scene or a card', async () => {
  using folder = new Folder();
  const card = { card: 1, template: 'text', title: 'Tea' };
  const scene = { scene: 1, nodes: [] };
  const shown = await run(show, { file: folder.file('card.json', JSON.stringify(card)) });
  assert.deepEqual(shown, {
    printed: ['card 3: it is in the foreground'],
    sent: [{ path: '/display/card', body: card }],
  });
  const { sent } = await run(show, { file: folder.file('scene.json', JSON.stringify(scene)) }, true);
  assert.deepEqual(sent, [{ path: '/display/surface', body: scene }]);
});

test('a file that is no scene is refused before a person is asked', async () => {
  using folder = new Folder();
  await assert.rejects(run(show, { file: folder.file('none.json') }), /cannot read .*ENOENT/);
  await assert.rejects(run(show, { file: folder.file('half.json', '{"card":') }), /is no JSON/);
  await assert.rejects(run(show, { file: folder.file('list.json', '[]') }), /neither a scene nor a card/);
});

test('a picture of the screen is a file', async () => {
  using folder = new Folder();
  const file = folder.file('now.png');
  const { printed, sent } = await run(screenshot, { file });
  assert.deepEqual(sent, [{ path: '/display/screenshot' }]);
  assert.deepEqual(readFileSync(file), png());
  assert.deepEqual(printed, [`${file}: ${png().length} bytes`]);
  await assert.rejects(run(screenshot, { file: join(folder.path, 'no', 'where.png') }), /cannot write .*ENOENT/);
});

test('the screen as text is a line each, and moves no terminal', async () => {
  const { printed, sent } = await run(text, {});
  assert.deepEqual(sent, [{ path: '/display/text' }]);
  assert.equal(printed.length, 2);
  assert.equal(printed[0], 'Tea');
  assert.ok(!printed.join('').includes('\u001b'));
});
