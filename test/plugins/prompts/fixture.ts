/** Plugin prompts on a folder of its own, with the table of operations before it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller, Clock } from '@device-core/plugin-api';
import { type Consents, consents } from '@device-core/plugin-api/inside/services/consents';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PromptQuestion, type Prompts, prompts } from '@device-core/plugin-api/services/prompts';
import { createTestHost, OPERATOR, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/prompts/index.ts';

export const MANIFEST = 'manifests/plugins/interface/prompts.yaml';
export const APP = 'com.example.agenda';
export const CALLERS = {
  operator: OPERATOR,
  app: { kind: 'app', id: APP },
  plugin: { kind: 'plugin', id: 'voice' },
} as const satisfies Record<string, Caller>;

export function question(more: Partial<PromptQuestion> = {}): PromptQuestion {
  return {
    kind: 'consent',
    subject: APP,
    title: 'Agenda',
    version: '1.0.0',
    what: ['audio.capture', 'sensors.nfc'].map((capability) => ({
      capability: capability as PromptQuestion['what'][number]['capability'],
      summary: 'hear the microphone',
      reason: 'to hear you',
      optional: false,
    })),
    ...more,
  };
}

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly prompts: Prompts;
  readonly consents: Consents;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  run(name: string, params?: object, caller?: Caller): Promise<any>;
  /** States of questions that were told so far. */
  told(): Promise<readonly string[]>;
}

export class Folder implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dp-'));
  readonly var = join(this.root, 'var');
  readonly file = join(this.var, 'prompts', 'consents.json');

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export async function boot(
  folder: Folder,
  options: { readonly config?: object; readonly clock?: Clock } = {},
): Promise<Bench> {
  const table = new TestOperations();
  const paths = { etc: join(folder.root, 'etc'), var: folder.var, run: join(folder.root, 'run') };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    // An app that holds a lot may do no more here.
    grants: { [`app.${APP}`]: ['system', 'audio', 'functions', 'events'] },
    services: [
      [device, { info: async () => ({ paths }) as never }],
      [operations, table],
    ],
    ...options,
  });
  return {
    host,
    prompts: host.service(prompts),
    consents: host.service(consents),
    run: (name, params = {}, caller = OPERATOR) => table.run(name, params, { caller }),
    async told() {
      await host.settle();
      return host.published
        .filter(({ topic }) => topic === 'prompt.state')
        .map(({ payload }) => `${(payload as { subject: string }).subject} ${(payload as { state: string }).state}`);
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
    },
  };
}
