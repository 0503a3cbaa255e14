/** `devicectl app install --yes`: what the device is sent while its question is open. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { ProgramClient, ProgramContext } from '@device-core/plugin-api/program';
import type { Prompt, PromptItem } from '@device-core/plugin-api/services/prompts';
import { type Bringing, install, update } from '../../../plugins/apps/app-store/program/bring.ts';

const folder = mkdtempSync(join(tmpdir(), 'dc-app-programs-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'a.app');
writeFileSync(file, 'package');
const HEARS: PromptItem = { capability: 'audio.capture', summary: 'Hear the microphone', reason: 'r', optional: false };
const PROMPT: Prompt = {
  id: 'p1',
  kind: 'consent',
  subject: 'com.example.a',
  title: 'A',
  since: 0,
  until: 1,
  what: [HEARS, { ...HEARS, capability: 'sensors.nfc', optional: true }],
};
const DONE = { id: 'com.example.a', version: '1.0.0', state: 'installed', capabilities: ['audio.capture'], hash: 'h' };

/** The device asks until it is answered, or until the third look, when the panel answers. */
async function bring(program: typeof install, args: Bringing, json = false) {
  const sent: (readonly [string, unknown])[] = [];
  let looks = 0;
  const answered = () => sent.some(([path]) => path.startsWith('/prompts/')) || looks > 2;
  const client = {
    upload: async () => ({ body: { source: '/up' } }),
    post: async (path: string, body: unknown) => {
      sent.push([path, body]);
      return { status: 202, body: { change: 'c1' }, text: '' };
    },
    get: async (path: string) => {
      if (!path.startsWith('/changes/')) return { body: { prompts: [PROMPT] } };
      looks++;
      const state = answered() ? 'done' : 'doing';
      const steps = [{ name: 'consent', summary: 'asking', state }];
      return {
        body: { id: 'c1', subject: 'app com.example.a', progress: { done: 0, of: 1 }, steps, state, result: DONE },
      };
    },
  } as unknown as ProgramClient;
  const lines: string[] = [];
  const out = { json, terminal: false, line: async (text: string) => void lines.push(text) };
  const context = { args, client, out, signal: new AbortController().signal } as unknown as ProgramContext<Bringing>;
  const failure = await Promise.resolve(program.run(context)).then(
    () => undefined,
    (error: unknown) => error as { readonly code?: string },
  );
  return { sent, lines, failure };
}

describe('--yes', () => {
  const ALLOWED = ['/prompts/p1', { allow: ['audio.capture'] }];
  for (const [name, program, args, path] of [
    ['app install', install, { source: file }, '/apps/install'],
    ['app update', update, { id: 'a', source: file }, '/apps/a/update'],
  ] as const)
    for (const json of [false, true])
      it(`of ${name}${json ? ' --json' : ''} allows the required rights, and names them`, async () => {
        const { sent, lines, failure } = await bring(program, { ...args, yes: true }, json);
        assert.deepEqual([sent, failure], [[[path, { source: '/up' }], ALLOWED], undefined]);
        if (json)
          assert.deepEqual(
            lines.map((line) => JSON.parse(line).id),
            ['com.example.a'],
          );
        else assert.match(lines.join('\n'), /Hear the microphone/);
      });

  it('answers nothing where it was not given', async () => {
    const { sent, failure } = await bring(install, { source: file });
    assert.deepEqual([sent.map(([path]) => path), failure], [['/apps/install'], undefined]);
  });

  it('is refused beside --no-wait, which would leave the question open', async () => {
    const { sent, failure } = await bring(install, { source: file, yes: true, noWait: true });
    assert.deepEqual([sent, failure?.code], [[], 'USAGE']);
  });
});
