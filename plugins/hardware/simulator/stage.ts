/** One scenario at a time: it is recorded, or it is played. */
import { type Bus, type Caller, type Clock, CoreError, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Operations } from '@device-core/plugin-api/services/operations';
import { CONTROLS } from './controls.ts';
import { playScenario } from './player.ts';
import { Recorder } from './recorder.ts';
import { lengthOf, printScenario, type ReadScenario, ScenarioReader } from './scenario.ts';
import { SCENARIO_BUSY, SCENARIO_INVALID } from './scenario-errors.ts';
import { Shelf } from './shelf.ts';

/** The whole call of one step. */
const STEP_MS = 30_000;

export interface StageParts {
  readonly scope: Scope;
  readonly clock: Clock;
  readonly bus: Bus;
  readonly folder: string;
  readonly operations: Pick<Operations, 'invoke'>;
  readonly changed: () => void;
}

interface Playing {
  readonly scenario: ReadScenario;
  readonly since: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  step: number;
}

/** Visible state of the stage. */
export interface StageView {
  readonly recording?: {
    readonly name: string;
    readonly steps: number;
    readonly since: number;
    readonly full: boolean;
  };
  readonly playing?: { readonly name: string; readonly step: number; readonly of: number; readonly since: number };
  readonly last?: { readonly name: string; readonly result: Result; readonly at: number; readonly reason?: string };
}
type Result = 'done' | 'failed' | 'stopped';

export class Stage {
  readonly shelf: Shelf;
  readonly #parts: StageParts;
  readonly #reader = new ScenarioReader(CONTROLS);
  #recorder: { readonly recorder: Recorder; readonly since: number } | undefined;
  #playing: Playing | undefined;
  #last: StageView['last'];

  constructor(parts: StageParts) {
    this.#parts = parts;
    this.shelf = new Shelf(parts.folder);
    parts.scope.defer('scenario that is played', async () => {
      this.#playing?.stop.abort(stopped('the simulator stops'));
      await this.#playing?.done.catch(() => undefined); // whoever waits for it is told
    });
  }

  get view(): StageView {
    const { recorder, since } = this.#recorder ?? {};
    const playing = this.#playing;
    return {
      ...(recorder && {
        recording: { name: recorder.name, steps: recorder.steps, since: since!, full: recorder.full },
      }),
      ...(playing && {
        playing: {
          name: playing.scenario.name,
          step: playing.step,
          of: playing.scenario.steps.length,
          since: playing.since,
        },
      }),
      ...maybe({ last: this.#last }),
    };
  }

  get words(): string {
    if (this.#recorder) return `records scenario ${this.#recorder.recorder.name}`;
    const playing = this.#playing;
    return playing ? `plays scenario ${playing.scenario.name}, step ${playing.step}` : 'the device is simulated';
  }

  /** Rejects with SCENARIO_BUSY, SCENARIO_KEPT. */
  async record(name: string, title?: string): Promise<void> {
    this.#free('record a scenario');
    await this.shelf.mayWrite(name);
    this.#free('record a scenario');
    const { clock } = this.#parts;
    this.#recorder = { recorder: new Recorder(name, title, clock.monotonic()), since: clock.now() };
    this.#parts.changed();
  }

  /** Records a control used by hand; controls of a played scenario are not recorded. */
  did(name: string, params: Readonly<Record<string, unknown>>): void {
    if (!this.#recorder) return;
    this.#recorder.recorder.did(name, params, this.#parts.clock.monotonic());
    this.#parts.changed();
  }

  /** Ends what is recorded, which is kept then, or what is played. */
  async stop(): Promise<{ readonly recorded?: string; readonly stopped?: string; readonly steps?: number }> {
    const recorder = this.#recorder?.recorder;
    if (recorder) return recorder.ended ? {} : this.#keep(recorder);
    const playing = this.#playing;
    if (!playing) return {};
    playing.stop.abort(stopped('it was stopped by hand'));
    await playing.done.catch(() => undefined); // whoever waits for it is told
    return { stopped: playing.scenario.name, steps: playing.step };
  }

  /** It is over when it is on the disk; what the disk refuses can be stopped once more. */
  async #keep(
    recorder: Recorder,
  ): Promise<{ readonly recorded?: string; readonly stopped?: string; readonly steps: number }> {
    const { name, steps } = recorder;
    recorder.ended = true;
    try {
      // A file needs a step: who recorded nothing gets nothing.
      if (steps > 0) await this.shelf.write(name, printScenario(recorder.scenario));
    } catch (error) {
      recorder.ended = false;
      throw error;
    }
    this.#recorder = undefined;
    this.#parts.changed();
    return steps > 0 ? { recorded: name, steps } : { stopped: name, steps };
  }

  async load(what: { readonly name?: string; readonly yaml?: string }): Promise<ReadScenario> {
    return this.#reader.read(what.yaml ?? (await this.shelf.read(what.name ?? '')), what.name);
  }

  /** Begins it. Rejects with SCENARIO_BUSY, SCENARIO_NOT_FOUND, SCENARIO_INVALID; `done` rejects with SCENARIO_FAILED or CANCELLED. */
  async play(what: { readonly name?: string; readonly yaml?: string }, caller: Caller) {
    this.#free('play a scenario');
    const scenario = await this.load(what);
    this.#free('play a scenario');
    const stop = new AbortController();
    const { clock, changed } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = promise.then(() => this.#perform(scenario, caller, stop.signal));
    const playing: Playing = { scenario, since: clock.now(), stop, done, step: 0 };
    this.#playing = playing;
    changed();
    resolve();
    const end = (result: Result, reason?: string): void => {
      this.#playing = undefined;
      this.#last = { name: scenario.name, result, at: clock.now(), ...maybe({ reason }) };
      changed();
    };
    const ended = done.then(
      () => end('done'),
      (error: unknown) => {
        end(stop.signal.aborted ? 'stopped' : 'failed', reasonOf(error));
        throw error;
      },
    );
    // A failure without a waiting caller is reported by the state.
    ended.catch(() => undefined);
    return { name: scenario.name, steps: scenario.steps.length, ms: lengthOf(scenario.steps), done: ended, stop };
  }

  /** Rejects with SCENARIO_INVALID, SCENARIO_KEPT. */
  async save(name: string, yaml: string): Promise<ReadScenario> {
    const scenario = this.#reader.read(yaml, name);
    if (scenario.name !== name) {
      const reason = `its name is ${scenario.name}, and it is to be kept as ${name}`;
      throw new CoreError(SCENARIO_INVALID, { scenario: name, line: 1, reason });
    }
    await this.shelf.write(name, yaml);
    return scenario;
  }

  #perform(scenario: ReadScenario, caller: Caller, signal: AbortSignal): Promise<void> {
    const { clock, bus, operations, changed } = this.#parts;
    const run = (name: string, params: object, signal: AbortSignal) =>
      operations.invoke(name, params, { caller, signal, deadline: clock.steady() + STEP_MS });
    const step = (index: number): void => {
      this.#playing!.step = index + 1;
      changed();
    };
    return playScenario(scenario, { clock, bus, run, step }, signal);
  }

  #free(verb: string): void {
    const name = this.#recorder?.recorder.name ?? this.#playing?.scenario.name;
    if (name === undefined) return;
    throw new CoreError(SCENARIO_BUSY, { verb, scenario: name, doing: this.#recorder ? 'recorded' : 'played' });
  }
}

const stopped = (reason: string): CoreError => new CoreError('CANCELLED', { what: 'the scenario', reason });
