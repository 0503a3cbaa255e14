/** A device with two slots in memory, its state in a folder, and an updater that can be ended and started again. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newRecord } from '@device-core/plugin-api/inside/boot-record';
import type { Image } from '@device-core/plugin-api/inside/image';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { type PluginStatus, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import type { UpdateState } from '@device-core/plugin-api/inside/services/updates';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PromptOutcome, type PromptQuestion, prompts } from '@device-core/plugin-api/services/prompts';
import { createTestHost, given, type TestHost, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/updater/index.ts';
import { InstantChanges, settledChange } from '../../fixtures/changes.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { FakeSlots, type FakeSlotsOptions } from '../../fixtures/fake-slots.ts';
import { type TestFiles, testKey, writeImageFolder } from '../../fixtures/image-folder.ts';

export const MANIFEST = 'manifests/plugins/life/updater.yaml';
export const KEY = testKey();
/** Of the clock at the start: 2026-01-01, a Thursday. */
export const NOW = Date.UTC(2026, 0, 1);
export const FILES: TestFiles = {
  'kernel/start.js': 'the next one',
  'bin/node': 'a program',
  notes: 'x'.repeat(5_000),
};

export interface Seen {
  readonly state: UpdateState;
  readonly version?: string;
  readonly reason?: string;
  readonly rule?: string;
  readonly [member: string]: unknown;
}

const OLD = { state: 'good', version: '0.9.0', image: `sha256:${'9'.repeat(64)}`, tries: 0 } as const;
const RUNS = { state: 'good', version: '1.0.0', image: `sha256:${'1'.repeat(64)}`, tries: 0 } as const;
export const TWO_GOOD = newRecord({ a: RUNS, b: OLD });

export class Device implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'du-'));
  readonly clock = virtualClock({ now: NOW });
  readonly slots: FakeSlots;
  readonly config: object;
  /** What health, plugins, apps and the event loop say. */
  readonly world = {
    plugins: [{ id: 'http', state: 'active', essential: true }] as Partial<PluginStatus>[],
    errors: [] as string[],
    apps: [] as Partial<AppStatus>[],
    p99Ms: 5,
  };
  /** What the person at the device is asked. */
  readonly questions: {
    readonly question: PromptQuestion;
    answer(allow: readonly string[], state?: PromptOutcome['state']): void;
  }[] = [];
  withdrawn = 0;
  host: TestHost | undefined;
  table = new TestOperations();
  readonly changes = new InstantChanges();

  constructor(config: object = {}, options: FakeSlotsOptions = {}) {
    this.config = { probationMs: 10_000, keepFreeMB: 0, ...config };
    this.slots = new FakeSlots(options);
  }

  get folder(): string {
    return join(this.root, 'var', 'update');
  }

  async start(): Promise<this> {
    const paths = { etc: join(this.root, 'etc'), var: join(this.root, 'var'), run: join(this.root, 'run') };
    mkdirSync(paths.etc, { recursive: true });
    const { world } = this;
    this.table = new TestOperations();
    this.host = await createTestHost(plugin, {
      manifest: MANIFEST,
      config: this.config,
      clock: this.clock,
      services: [
        given(device, { info: async () => ({ paths, sku: { id: 'test', title: 'Test', simulated: true } }) as never }),
        given(pluginManager, {
          list: async () => world.plugins as PluginStatus[],
          eventLoop: async () => ({
            p50Ms: 1,
            p99Ms: world.p99Ms,
            maxMs: 9,
            utilization: 0,
            stalls: 0,
            unattributed: 0,
          }),
        }),
        [operations, this.table],
        given(apps, {
          list: async () => world.apps as AppStatus[],
          manifest: async () => ({}) as never,
        }),
        given(prompts, {
          ask: (question) => {
            const { promise, resolve } = Promise.withResolvers<PromptOutcome>();
            const answer = (allow: readonly string[], state: PromptOutcome['state'] = 'answered') =>
              resolve({ state, allow, by: 'panel', at: 0 });
            this.questions.push({ question, answer });
            return promise;
          },
          withdraw: async () => void this.withdrawn++,
        }),
        [changes, this.changes],
        [machine, this.slots],
        [slots, this.slots],
      ],
      grants: { 'app.com.example.a': ['updates.inhibit'], 'app.com.example.b': ['updates.inhibit'] },
    });
    this.table.add({
      name: 'system.health',
      summary: 'health',
      params: { type: 'object' },
      result: { type: 'object', additionalProperties: true },
      errors: [],
      run: async () => ({
        components: Object.fromEntries(world.errors.map((name) => [name, { status: 'error', message: 'broken' }])),
      }),
    });
    await this.host.hook('kernel.ready').promise();
    await this.host.settle();
    return this;
  }

  /** The Core ends; `kill`: nothing of it happens any more, as far as a test can do that. */
  async end(): Promise<void> {
    await this.host?.stop();
    await this.host?.[Symbol.asyncDispose]();
    this.host = undefined;
  }

  /** The Core ends and the loader chooses; `how` as systemd says it. */
  async restart(how?: string): Promise<void> {
    await this.end();
    this.slots.start(how);
    await this.start();
  }

  run<R = Seen>(name: string, params: object = {}, call: object = {}): Promise<R> {
    return this.table.run<R>(`update.${name}`, params, call as never);
  }

  /** What the change came to that `apps.fetch` or `plugins.fetch` began. */
  async fetch(noun: 'app' | 'plugin', params: object): Promise<{ readonly source: string; readonly version: string }> {
    const { change } = await this.table.run<{ change: string }>(`${noun}s.fetch`, params, {
      deadline: this.clock.now() + 60_000,
    });
    return (await settledChange(() => this.changes.get(change))) as never;
  }

  status(): Promise<Seen> {
    return this.run('status');
  }

  /** As the file has it. */
  get kept(): { readonly update: Seen } {
    return JSON.parse(readFileSync(join(this.folder, 'state.json'), 'utf8'));
  }

  get blobs(): readonly string[] {
    try {
      return readdirSync(join(this.folder, 'blobs'));
    } catch {
      return [];
    }
  }

  /** Resolves with the status once it is one of these states. */
  async becomes(...states: readonly UpdateState[]): Promise<Seen> {
    return eventually(
      async () => {
        const seen = await this.status();
        return states.includes(seen.state) && seen;
      },
      `state ${states.join(' or ')}, not ${(await this.status()).state}: ${(await this.status()).reason}`,
    );
  }

  /** The clock goes on until it is one of these. */
  async reaches(...states: readonly UpdateState[]): Promise<Seen> {
    return eventually(
      async () => {
        await this.clock.advance(500);
        const seen = await this.status();
        return states.includes(seen.state) && seen;
      },
      `state ${states.join(' or ')}`,
    );
  }

  /** Until the machine was asked for a restart. */
  async restarts(): Promise<void> {
    const before = this.slots.calls.filter((call) => call === 'restart').length;
    await eventually(async () => {
      await this.clock.advance(500);
      return this.slots.calls.filter((call) => call === 'restart').length > before;
    }, 'a restart');
  }

  image(over: Partial<Image> = {}, files: TestFiles = FILES): string {
    const folder = join(this.root, `image-${over.version ?? '1.1.0'}`);
    writeImageFolder(folder, files, KEY, { version: '1.1.0', ...over });
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A device whose update stands at this point; staging waits until `go` is called. */
export async function at(
  point: 'verifying' | 'staged' | 'waiting' | 'activating' | 'probation' | 'good',
  config: object = {},
) {
  const device = await new Device(config, { record: TWO_GOOD }).start();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  device.slots.begun = begun.resolve;
  if (point === 'verifying' || point === 'staged') device.slots.gate = gate.promise;
  if (point === 'waiting') device.host?.publish('system.power', { source: 'mains', state: 'low' });
  await device.run('install', { source: device.image() });
  if (point === 'verifying') await begun.promise;
  if (point === 'staged') {
    await begun.promise;
    const held = device.run('hold', { reason: 'a fair' });
    await turns(20);
    gate.resolve();
    assert.equal((await held).state, 'available');
    device.slots.gate = undefined;
    await device.run('download');
    await device.becomes('staged');
  }
  if (point === 'waiting') await device.becomes('waiting');
  if (['activating', 'probation', 'good'].includes(point)) await device.restarts();
  if (point === 'probation' || point === 'good') await device.restart();
  if (point === 'good') await device.reaches('good');
  return Object.assign(device, { go: gate.resolve });
}
