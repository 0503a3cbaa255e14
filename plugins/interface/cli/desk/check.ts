/** The steps of `devicectl app check`, in their order. Each says what it found; only what makes the next one senseless ends them. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { reasonOf } from '@device-core/plugin-api';
import { appFilesOf } from '@device-core/plugin-api/inside/packages';
import { type AppStatus, stateText } from '@device-core/plugin-api/services/apps';
import type { AppFolder } from './app-folder.ts';
import { judge, minimal, type Uses, type Verdict } from './claims.ts';
import { memoryPeak } from './memory.ts';
import { missingPackages } from './node-packages.ts';
import type { Simulator } from './simulator.ts';

export type StepState = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Step {
  readonly step: string;
  readonly state: StepState;
  readonly message: string;
}

/** Pings of a checked device come so often, and one that is not answered is one too many. */
export const PING = { everyMs: 100, limitMs: 1_000, misses: 1 } as const;
/** Looks at an app that must answer a ping: as many of them take longer on a busy machine. */
const LOOKS = 36;
const LOOK_MS = 50;
const MOST_FILES = 20_000;
const MOST_LISTED = 5;
const MEBI = 1024 * 1024;

export class AppCheck {
  readonly steps: Step[] = [];
  verdicts: readonly Verdict[] = [];
  minimal: ReturnType<typeof minimal> = [];
  peak: number | undefined;
  /** Walls around the app, as /health reports them. */
  walls = '';
  readonly #folder: AppFolder;
  readonly #device: Simulator;
  readonly #told: (step: Step) => Promise<void>;
  readonly #used = new Set<string>();
  readonly #refused = new Map<string, string>();

  constructor(folder: AppFolder, device: Simulator, told: (step: Step) => Promise<void>) {
    this.#folder = folder;
    this.#device = device;
    this.#told = told;
  }

  get passed(): boolean {
    return this.steps.every(({ state }) => state !== 'failed');
  }

  /** `use`: the app runs, and somebody may use it until this resolves. */
  async run(use: () => Promise<void>): Promise<void> {
    await this.#package();
    if (!(await this.#manifest())) return;
    await this.#walls();
    if (!(await this.#start('start'))) return this.#claims();
    await this.#functions();
    await this.#calls();
    await this.#ping();
    await use();
    await this.#note();
    if ((await this.#stop('stop')) && (await this.#start('start again'))) {
      await this.#note();
      await this.#stop('stop again');
    }
    await this.#claims();
    await this.#memory();
  }

  async #say(step: string, state: StepState, message: string): Promise<void> {
    const one = { step, state, message };
    this.steps.push(one);
    await this.#told(one);
  }

  async #package(): Promise<void> {
    const { path } = this.#folder;
    const missing = missingPackages(path);
    if (missing.length > 0)
      return this.#say(
        'package',
        'failed',
        `package.json needs ${listOf(missing)}, and node_modules does not hold ${missing.length > 1 ? 'them' : 'it'}: run "npm install" in the folder of the app`,
      );
    try {
      const files = await appFilesOf(path, MOST_FILES);
      const bytes = files.reduce((sum, file) => sum + statSync(join(path, file)).size, 0);
      await this.#say('package', 'ok', `${files.length} files, ${megabytes(bytes)}`);
    } catch (error) {
      await this.#say('package', 'failed', reasonOf(error));
    }
  }

  async #manifest(): Promise<boolean> {
    const { state, reason, version } = await this.#status();
    const bad = state === 'failed' && version === '';
    await this.#say(
      'manifest',
      bad ? 'failed' : 'ok',
      bad ? short(reason ?? '', this.#folder) : 'app.yaml is in order',
    );
    return !bad;
  }

  async #walls(): Promise<void> {
    const { body } = await this.#device.client.get('/health');
    const components = body.components as Readonly<Record<string, { readonly message?: string }>>;
    this.walls = components.walls?.message ?? 'unknown';
    const open = /: none/.test(this.walls);
    await this.#say(
      'sandbox',
      open ? 'warning' : 'ok',
      `${open ? 'not all of it is enforced here: ' : ''}${this.walls}`,
    );
  }

  async #start(step: string): Promise<boolean> {
    const began = performance.now();
    const app = await this.#change('start');
    const running = app.state === 'running' && app.restarts === 0 && app.lastEnd === undefined;
    const took = `READY after ${Math.round(performance.now() - began)} ms`;
    await this.#say(step, running ? 'ok' : 'failed', running ? took : troubleOf(app));
    return running;
  }

  async #functions(): Promise<void> {
    const declared = this.#folder.functions;
    const { leftOut } = await this.#status();
    for (const { part, reason, unused } of leftOut.filter(({ part }) => !ofFunction(part)))
      await this.#say('manifest', unused ? 'warning' : 'failed', `${part}: ${reason}`);
    const refused = leftOut.filter(({ part }) => ofFunction(part));
    const sentences = declared.flatMap((one) => (one as { utterances?: readonly string[] }).utterances ?? []);
    for (const { part, reason, hint } of refused)
      await this.#say('functions', 'failed', `${part}: ${reason}${hint ? `; granted by ${hint}` : ''}`);
    if (refused.length > 0) return;
    const said = sentences.length > 0 ? `, ${sentences.length} sentences compile` : '';
    await this.#say('functions', declared.length > 0 ? 'ok' : 'skipped', `${declared.length} in app.yaml${said}`);
  }

  /** By their examples; without any those that need no input, and may be called without harm. */
  async #calls(): Promise<void> {
    let called = 0;
    for (const { name, inputs = {}, idempotent, examples = [] } of this.#folder.functions) {
      const needed = Object.values(inputs).some((type) => !String(type).endsWith('?'));
      const given = examples.flatMap((one) => inputsOf(one) ?? []);
      for (const values of given.length > 0 ? given : idempotent && !needed ? [{}] : []) {
        called += 1;
        try {
          await this.#device.client.post('/functions/call', { app: this.#device.app, name, inputs: values });
        } catch (error) {
          await this.#say('calls', 'failed', `${name} ${JSON.stringify(values)}: ${reasonOf(error)}`);
        }
      }
    }
    if (this.steps.some(({ step }) => step === 'calls')) return;
    const hint = 'no function has examples: [{ inputs: {...} }]';
    await this.#say('calls', called > 0 ? 'ok' : 'skipped', called > 0 ? `${called} answered as declared` : hint);
  }

  async #ping(): Promise<void> {
    let app = await this.#status();
    for (let looks = 0; looks < LOOKS && app.lastEnd === undefined; looks++) {
      await later(LOOK_MS);
      app = await this.#status();
    }
    const alive = app.lastEnd === undefined && app.state === 'running';
    await this.#say('ping', alive ? 'ok' : 'failed', alive ? 'it answers, and goes on' : troubleOf(app));
  }

  async #stop(step: string): Promise<boolean> {
    const limit = this.#folder.stopTimeoutMs;
    const began = performance.now();
    const app = await this.#change('stop');
    const took = Math.round(performance.now() - began);
    if (app.state !== 'stopped') await this.#say(step, 'failed', troubleOf(app));
    else if (took < limit || limit === 0) await this.#say(step, 'ok', `it ended after ${took} ms`);
    else await this.#say(step, 'warning', `it had to be killed after ${limit} ms: it did not end at "stop" or SIGTERM`);
    return app.state === 'stopped';
  }

  /** Records uses and memory while the app can still be asked. */
  async #note(): Promise<void> {
    const { pid } = await this.#status();
    const peak = pid === undefined ? undefined : memoryPeak(pid);
    if (peak !== undefined) this.peak = Math.max(this.peak ?? 0, peak);
    const { body } = await this.#device.client.get(`${this.#path()}/uses`);
    const { used, refused } = body as unknown as Uses;
    for (const one of used) this.#used.add(one);
    for (const { capability, hint } of refused) this.#refused.set(capability, hint);
  }

  async #claims(): Promise<void> {
    await this.#note();
    const refused = [...this.#refused].map(([capability, hint]) => ({ capability, hint }));
    const uses: Uses = {
      used: [...this.#used],
      refused,
      stored: holdsFiles(join(this.#device.root, 'var/apps', this.#device.app, 'data')),
    };
    this.verdicts = judge(this.#folder.claims, uses);
    this.minimal = minimal(this.verdicts, uses);
    for (const [index, { claim, verdict, used }] of this.verdicts.entries()) {
      const at = this.#folder.place(['capabilities', index]);
      if (verdict === 'idle') await this.#say('claims', 'warning', `${at}: ${claim.id} was never needed`);
      if (verdict === 'wide') await this.#say('claims', 'warning', `${at}: ${claim.id}: ${used.join(', ')} would do`);
      if (verdict === 'unseen')
        await this.#say('claims', 'skipped', `${at}: ${claim.id}: the sandbox opens it, so its use was not seen`);
    }
    for (const { capability } of refused)
      await this.#say('claims', 'failed', `it was refused ${capability}, which app.yaml does not claim`);
    if (this.steps.some(({ step }) => step === 'claims')) return;
    const some = this.verdicts.length > 0;
    await this.#say('claims', 'ok', some ? `${this.verdicts.length} claimed, all used` : 'none, and none was needed');
  }

  async #memory(): Promise<void> {
    const { memoryMaxMB } = this.#folder;
    if (this.peak === undefined) return this.#say('memory', 'skipped', 'its processes cannot be seen');
    const peak = `${megabytes(this.peak)} at most`;
    if (memoryMaxMB === undefined) return this.#say('memory', 'ok', `${peak}; app.yaml sets no budget`);
    const share = this.peak / (memoryMaxMB * MEBI);
    const state = share > 1 ? 'failed' : share > 0.8 ? 'warning' : 'ok';
    await this.#say('memory', state, `${peak}, ${Math.round(share * 100)} % of its budget of ${memoryMaxMB} MB`);
  }

  async #status(): Promise<AppStatus> {
    const { body } = await this.#device.client.get(this.#path());
    return body.app as AppStatus;
  }

  async #change(verb: 'start' | 'stop'): Promise<AppStatus> {
    const { body } = await this.#device.client.post(`${this.#path()}/${verb}`, {}, { timeoutMs: 165_000 });
    return body.app as AppStatus;
  }

  #path(): string {
    return `/apps/${encodeURIComponent(this.#device.app)}`;
  }
}

function troubleOf({ state, reason, lastEnd, denied }: AppStatus): string {
  const hint = denied.map(({ capability }) => capability).join(', ');
  return `${lastEnd?.reason ?? reason ?? `it ${stateText(state)}`}${hint ? ` (not granted: ${hint})` : ''}`;
}

function ofFunction(part: string): boolean {
  return part.startsWith('function ');
}

function listOf(names: readonly string[]): string {
  const more = names.length - MOST_LISTED;
  return `${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more packages` : ''}`;
}

/** The folder is known to whoever reads. */
function short(reason: string, { path }: AppFolder): string {
  return reason.replaceAll(`${path}/`, '');
}

function inputsOf(example: unknown): object | undefined {
  const inputs = (example as { readonly inputs?: unknown } | null)?.inputs;
  return typeof inputs === 'object' && inputs !== null ? inputs : undefined;
}

function holdsFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false; // an app without such a folder
  }
}

function megabytes(bytes: number): string {
  return bytes < MEBI ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / MEBI).toFixed(1)} MB`;
}
