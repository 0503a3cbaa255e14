/** Whatever order installs, crashes, proofs, rollbacks and ends of the Core come in: what ran last comes back, with its settings. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CoreError, type PluginState } from '@device-core/plugin-api';
import { installedLines, readInstalled, versionFolder, versionsOf } from '@device-core/plugin-api/inside/installed';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import {
  type PluginManager,
  type PluginStatus,
  pluginManager,
  type SkuChange,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, type TestHost, VirtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { plugin } from '../../../plugins/apps/plugin-store/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { Packages } from '../../fixtures/packages.ts';
import { runs } from '../../fixtures/runs.ts';
import { StoreCalls } from '../../fixtures/store-calls.ts';

const PROBATION_MS = 30_000;
const ID = 'guest';
const CONFIG = 'config: { type: object, additionalProperties: false, properties: { n: { type: integer } } }';
const NOTHING: SkuChange = { added: [], removed: [], changed: [], affected: [], stale: [], device: false };
const packages = new Packages();
const sources = new Map<string, string>();
after(() => packages[Symbol.dispose]());
after(leakCheck());

/** Versions that end in 9 do not start. */
const isBroken = (version: string) => version.endsWith('9');
function sourceOf(version: string): string {
  const source = sources.get(version) ?? packages.folder({ version, manifest: [CONFIG] });
  sources.set(version, source);
  return source;
}

/** A kernel that runs one plugin as installed.yaml says, and the store beside it; both end and begin again on the same folder. */
class Machine implements AsyncDisposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'ds-'));
  readonly #var = join(this.#root, 'var');
  readonly #calls = new StoreCalls();
  #host: TestHost | undefined;
  #clock = new VirtualClock();
  #generation = 0;
  #runs: { version: string; line: string; state: PluginState } | undefined;

  async boot(): Promise<void> {
    mkdirSync(this.#var, { recursive: true });
    this.#clock = new VirtualClock();
    this.#runs = undefined;
    const now = this.#line();
    if (now) this.#runs = { ...now, state: 'active' };
    this.#generation = 1;
    const paths = { etc: join(this.#root, 'etc'), var: this.#var, run: join(this.#root, 'run') };
    const info = { paths, sku: { id: 'test', title: 'Test', simulated: true } } as never;
    const manager = { list: async () => this.#list(), apply: () => this.#apply() } as Partial<PluginManager>;
    this.#host = await createTestHost(plugin, {
      manifest: 'manifests/plugins/apps/plugin-store.yaml',
      config: { probationMs: PROBATION_MS },
      clock: this.#clock,
      services: [
        [pluginManager, manager],
        [device, { info: async () => info }],
        [changes, this.#calls.changes],
      ],
    });
    await this.#host.appear(operations, this.#calls as never);
    if (this.#runs) await this.#tell('active');
  }

  /** Killed, what the store writes at an orderly end is as if it had never been written. */
  async end(killed: boolean): Promise<void> {
    const kept = `${this.#var}.kept`;
    if (killed) cpSync(this.#var, kept, { recursive: true });
    await this.#host?.stop();
    this.#host = undefined;
    if (!killed) return;
    rmSync(this.#var, { recursive: true });
    cpSync(kept, this.#var, { recursive: true });
    rmSync(kept, { recursive: true });
  }

  async call<T>(name: string, params: object = {}): Promise<T> {
    return (await this.#calls.call(name, params)) as T;
  }

  async crash(): Promise<void> {
    if (this.#runs?.state !== 'active') return;
    this.#runs.state = 'failed';
    await this.#tell('failed');
  }

  /** The kernel starts a plugin again that failed. */
  async recover(): Promise<void> {
    if (this.#runs?.state !== 'failed') return;
    this.#runs.state = 'active';
    this.#generation++;
    await this.#tell('active');
  }

  pass(): Promise<void> {
    return this.#clock.advance(PROBATION_MS);
  }

  /** Folders that the list needs, and that are not there. */
  missing(): readonly string[] {
    const entry = readInstalled(this.#var).installed.plugins[ID];
    const folders = entry ? versionsOf(entry).map((one) => join(this.#var, 'plugins', ID, versionFolder(one))) : [];
    return folders.filter((folder) => !existsSync(folder));
  }

  #line() {
    const line = installedLines(readInstalled(this.#var).installed)[ID];
    return line && { version: line.version, line: JSON.stringify(line) };
  }

  async #apply(): Promise<SkuChange> {
    const now = this.#line();
    if (now?.line === this.#runs?.line && this.#runs?.state !== 'failed') return NOTHING;
    if (now && isBroken(now.version))
      throw new CoreError('CHANGE_UNDONE', { plugin: ID, reason: `plugin ${ID}: it is broken` });
    this.#generation++;
    if (this.#runs) await this.#tell('stopping');
    this.#runs = now && { ...now, state: 'active' };
    if (now) await this.#tell('active');
    return NOTHING;
  }

  async #tell(state: PluginState): Promise<void> {
    this.#host?.publish('plugin.state', { plugin: ID, state });
    await this.#host?.settle();
  }

  #list(): readonly PluginStatus[] {
    if (!this.#runs) return [];
    const { version, state } = this.#runs;
    const rest = { summary: '', isolation: 'process' as const, essential: false, since: 0, provides: {}, requires: {} };
    return [{ id: ID, version, state, ...rest, holds: [], generation: this.#generation }];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host?.stop();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

interface Entry {
  readonly version: string;
  readonly config: object;
  readonly proven: boolean;
  readonly starts: number;
  readonly former?: Entry | undefined;
  readonly lastGood?: Entry | undefined;
}

/** What ought to be, in as few words as possible. */
class Model {
  now: Entry | undefined;
  /** Settings of what was rolled back without anything before it. */
  kept: object = {};

  install(version: string, config: object): 'runs' | 'rolled back' {
    const former = this.now;
    const settings = { ...(former?.config ?? this.kept), ...config };
    if (former?.version === version && JSON.stringify(former.config) === JSON.stringify(settings)) return 'runs';
    if (isBroken(version)) {
      if (!former) this.kept = settings;
      else this.now = { ...former, starts: 0 };
      return 'rolled back';
    }
    const lastGood = former?.proven ? former : former?.lastGood;
    this.now = { version, config: settings, proven: false, starts: 0, former: trimmed(former, 3), lastGood };
    return 'runs';
  }

  crash(): void {
    if (!this.now || this.now.proven) return;
    const back = this.now.former ?? this.now.lastGood;
    if (!back) this.kept = this.now.config;
    this.now = back && { ...back, starts: 0 };
  }

  pass(): void {
    if (!this.now || this.now.proven) return;
    const { former, lastGood, ...rest } = this.now;
    this.now = { ...rest, proven: true, lastGood: lastGood ?? former };
  }

  rollback(): boolean {
    const { now } = this;
    const back = now?.proven ? now.lastGood : (now?.former ?? now?.lastGood);
    if (!now || !back) return false;
    this.now = now.proven ? { ...back, proven: true, former: undefined, lastGood: now } : back;
    return true;
  }

  boot(killed: boolean): void {
    const unproven = () => this.now && !this.now.proven;
    if (!killed && this.now) this.now = { ...this.now, starts: 0 };
    while (unproven() && this.now!.starts >= 3) {
      const { config } = this.now!;
      this.now = this.now!.former ?? this.now!.lastGood;
      if (!this.now) this.kept = config;
    }
    if (unproven()) this.now = { ...this.now!, starts: this.now!.starts + 1 };
  }

  remove(): void {
    this.now = undefined;
    this.kept = {};
  }
}

function trimmed(entry: Entry | undefined, most: number): Entry | undefined {
  return entry && { ...entry, former: most > 1 ? trimmed(entry.former, most - 1) : undefined };
}

type Step =
  | { readonly install: string; readonly n: number | undefined }
  | { readonly does: 'crash' | 'pass' | 'rollback' | 'remove' | 'restart' | 'kill' };

interface Listed {
  readonly version: string;
  readonly state: string;
  readonly config: object;
  readonly running?: { readonly version: string; readonly state: string };
}

async function play(steps: readonly Step[]): Promise<void> {
  await using machine = new Machine();
  const model = new Model();
  await machine.boot();
  for (const step of steps) {
    if ('install' in step) {
      const config = step.n === undefined ? {} : { n: step.n };
      const expected = model.install(step.install, config);
      const request = { source: sourceOf(step.install), config };
      const outcome = await machine.call<Listed>('plugins.install', request).catch((error: CoreError) => error);
      if (expected === 'runs') assert.equal((outcome as Listed).running?.version, model.now?.version, String(outcome));
      else {
        const { code, message, details } = outcome as CoreError;
        assert.equal(code, 'PLUGIN_ROLLED_BACK', message);
        assert.match(message, model.now ? new RegExp(`; ${model.now.version} runs again$`) : /its settings are kept$/);
        assert.equal((details.running as Listed | undefined)?.version, model.now?.version);
      }
    } else if (step.does === 'crash') {
      const proven = model.now?.proven;
      model.crash();
      await machine.crash();
      if (proven) await machine.recover();
    } else if (step.does === 'pass') {
      model.pass();
      await machine.pass();
    } else if (step.does === 'rollback') {
      const goes = model.rollback();
      const answer = machine.call<{ plugin: Listed }>('plugins.rollback', { id: ID });
      if (goes) assert.equal((await answer).plugin.running?.version, model.now?.version);
      else await assert.rejects(answer);
    } else if (step.does === 'remove') {
      // Where a first install came to nothing there is nothing to remove, and its settings stay.
      if (model.now) {
        await machine.call('plugins.remove', { id: ID });
        model.remove();
      }
    } else {
      await machine.end(step.does === 'kill');
      model.boot(step.does === 'kill');
      await machine.boot();
    }
    await eventually(async () => {
      const { plugins } = await machine.call<{ plugins: readonly Listed[] }>('plugins.installed');
      const got = plugins.map(({ version, config, state, running }) => ({ version, config, state, running }));
      const { now } = model;
      const running = { version: now?.version, state: 'active' };
      const state = now?.proven ? 'good' : 'probation';
      assert.deepEqual(got, now ? [{ version: now.version, config: now.config, state, running }] : []);
      return true;
    }, 'what the model says');
    assert.deepEqual(machine.missing(), []);
  }
}

const VERSIONS = ['1.0.0', '2.0.0', '3.0.0', '4.0.0', '5.0.9', '6.0.9'] as const;

test('a broken upgrade within the probation of a good install leaves the good plugin and its settings', async () => {
  const first = [{ install: '1.0.0', n: 7 }] as const;
  await play([...first, { install: '5.0.9', n: 8 }, { does: 'pass' }]);
  await play([...first, { install: '2.0.0', n: 8 }, { does: 'crash' }, { does: 'pass' }]);
  await play([
    ...first,
    { install: '2.0.0', n: undefined },
    { install: '3.0.0', n: 9 },
    { does: 'crash' },
    { does: 'crash' },
  ]);
  await play([...first, { install: '2.0.0', n: 8 }, ...Array(4).fill({ does: 'kill' })]);
  await play([...first, { does: 'crash' }, { install: '2.0.0', n: undefined }]);
});

test('any sequence of installs, crashes, proofs, rollbacks, removals and ends of the Core', async () => {
  const install = fc.record({
    install: fc.constantFrom(...VERSIONS),
    n: fc.option(fc.nat(2), { nil: undefined }),
  });
  const does = fc.constantFrom('crash', 'pass', 'rollback', 'remove', 'restart', 'kill', 'kill', 'crash', 'rollback');
  const step: fc.Arbitrary<Step> = fc.oneof(install, fc.record({ does }));
  const came: Step[] = [
    { install: '1.0.0', n: 0 },
    { does: 'crash' },
    { does: 'remove' },
    { install: '1.0.0', n: undefined },
  ];
  const examples: [Step[]][] = [[came]];
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), play), { numRuns: runs(100), examples });
});
