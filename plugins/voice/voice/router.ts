/** Routes what was said through the stages in their order, until one of them understands it. */

import { CoreError, type Scope } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';
import { type CloudParts, type CloudSettings, CloudStage, type Unsent } from './cloud-stage.ts';
import { type LocalSettings, LocalStage } from './local-stage.ts';
import { Meanings } from './meanings.ts';
import { Others } from './others.ts';
import { failed, Race, type Reading, type Rule, ruleOf } from './reading.ts';
import type { Stage } from './stage.ts';
import type { Heard, Utterance } from './utterance.ts';

export interface RouterSettings extends CloudSettings {
  /** Local engines are asked. */
  readonly local: boolean;
  /** Those, one after the other; absent: the first of the order that is well. */
  readonly stages?: readonly (Partial<LocalSettings> & { readonly engine: string })[];
  /** Default of the stages. */
  readonly unsureBelow: number;
  readonly localMs: number;
}

/** A stage that was due. The first is asked without a reason. */
export interface Step {
  readonly stage: string;
  readonly rule: Rule | undefined;
  /** Why it was not asked. */
  readonly refusal?: string;
}

export interface Understood {
  readonly reading: Reading;
  readonly route: readonly Step[];
}

export interface RouterParts extends Omit<CloudParts, 'settings'> {
  readonly scope: Scope;
  readonly settings: RouterSettings;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
  readonly grammar: () => SpeechGrammar | undefined;
}

export class Router {
  readonly #scope: Scope;
  readonly #stages: readonly Stage[];
  readonly #meanings: Meanings;
  readonly #cloud: CloudStage;
  readonly #local: boolean;

  constructor(parts: RouterParts) {
    const { scope, settings, ledger, intents } = parts;
    const { language, local, localMs, cloudMs, unsureBelow } = settings;
    this.#scope = scope;
    this.#local = local;
    const cloud = new CloudStage(parts);
    const others = new Others({
      scope,
      language,
      intents,
      note: (entry) => ledger.append(entry),
      refusal: () => cloud.textRefusal(0),
      failed: (turn, stage, reason) => stage === 'cloud' && cloud.tell(turn, 'no-intent', reason),
    });
    const meanings = new Meanings({ language, within: { local: localMs, cloud: cloudMs }, intents, others });
    cloud.meanings = meanings;
    const named: readonly Partial<LocalSettings>[] = local ? (settings.stages ?? [{}]) : [];
    const stages = named.map(
      (one, place) =>
        new LocalStage({ ms: localMs, unsureBelow, ...one }, { ...parts, language, meanings }, place === 0),
    );
    this.#stages = [...stages, cloud];
    this.#meanings = meanings;
    this.#cloud = cloud;
  }

  /** Newest first. */
  get unsent(): readonly Unsent[] {
    return this.#cloud.unsent;
  }

  /** A command begins. */
  open(utterance: Utterance, turn: string): void {
    for (const [place, stage] of this.#stages.entries()) stage.open(utterance, turn, place === 0);
  }

  /** Meaning of the utterance, when it is over. Rejects with CANCELLED only. */
  async understand(utterance: Utterance, turn: string, signal: AbortSignal): Promise<Understood> {
    const stop = new AbortController();
    const race = new Race();
    const asked: [stage: Stage, step: Step][] = [];
    let rule: Rule | undefined = this.#local ? undefined : 'local-disabled';
    try {
      for (const stage of this.#stages) {
        const { reading } = await this.#wait(race, stage.hedgeMs);
        signal.throwIfAborted();
        if (race.won || (race.settled && reading?.outcome === 'empty')) break;
        if (asked.length > 0) rule = race.settled ? ruleOf(reading ?? failed(undefined)) : 'hedge';
        const refusal = stage.refusal(utterance);
        const step = { stage: stage.name, rule };
        if (refusal === undefined) {
          const call = { utterance, turn, rule: rule ?? 'local-disabled', before: reading };
          race.add(stage.ask({ ...call, signal: AbortSignal.any([signal, stop.signal]) }));
          asked.push([stage, step]);
        } else {
          stage.refused(turn, rule ?? 'local-failed', refusal);
          asked.push([stage, { ...step, refusal }]);
        }
      }
      await race.over();
      signal.throwIfAborted();
      const refusals = asked.flatMap(([, { refusal }]) => refusal ?? []);
      const unasked = { outcome: 'failed', code: 'ENGINE_MISSING', reason: refusals.join('; ') } as const;
      const route = asked.filter(([stage, { refusal }]) => refusal !== undefined || stage.reached(utterance));
      return { reading: race.reading ?? unasked, route: route.map(([, step]) => step) };
    } finally {
      stop.abort(new CoreError('CANCELLED', { what: 'the transcription', reason: 'another engine was first' }));
    }
  }

  /**
   * Meaning of words that were never speech: by our sentences, by local interpreters, and by those in the cloud.
   * Rejects with CANCELLED, SERVICE_MISSING.
   */
  meaning(heard: Heard, turn: string, signal: AbortSignal): Promise<Reading> {
    return this.#meanings.of(heard, turn, signal);
  }

  /** Resolves when a stage has understood, or all have answered, or the next is asked as well. */
  async #wait(race: Race, hedgeMs: number): Promise<Race> {
    const ms = hedgeMs > 0 ? hedgeMs : Number.POSITIVE_INFINITY;
    // A stage that takes longer goes on; the end of the turn ends the wait.
    await this.#scope.within('hedge', ms, () => race.over()).catch(() => undefined);
    return race;
  }
}
