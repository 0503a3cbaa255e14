/**
 * Meanings of texts outside our sentences: interpreters are asked, those in the cloud only after the entry in the
 * ledger.
 */
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { IntentMatch, Intents } from '@device-core/plugin-api/services/intents';
import type { LedgerEntry } from '@device-core/plugin-api/services/voice';

export interface OthersParts {
  readonly scope: Scope;
  readonly language: string;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
  /** Resolves when it is on the disk. */
  readonly note: (entry: Omit<LedgerEntry, 'at'>) => Promise<void>;
  /** Why no text may be sent now. */
  readonly refusal: () => string | undefined;
  /** One that failed; `stage` says what is lost by it. */
  readonly failed: (turn: string, stage: 'local' | 'cloud', reason: string) => void;
}

export class Others {
  readonly #parts: OthersParts;

  constructor(parts: OthersParts) {
    this.#parts = parts;
  }

  /** The first that knows, within `ms` each; undefined: nobody does. Rejects with CANCELLED only. */
  async ask(
    text: string,
    { turn, stage, rule, ms, signal }: Asked,
  ): Promise<Extract<IntentMatch, { outcome: 'plan' }> | undefined> {
    const { scope, language, intents, note, refusal, failed } = this.#parts;
    if (text.trim() === '') return undefined;
    try {
      const all = await scope.within('the list of interpreters', ms, () => intents().interpreters(), { signal });
      for (const one of all) {
        if (one.stage !== stage || !speaks(one.languages, language)) continue;
        if (stage === 'cloud') {
          if (refusal() !== undefined) return undefined;
          const to = `${one.id} (${one.title})`;
          await note({ turn, to, what: 'text', bytes: Buffer.byteLength(text), rule });
          // A refusal by the user meanwhile counts.
          if (refusal() !== undefined) return undefined;
        }
        const ask = () => intents().interpret(text, { language, interpreter: one.id, signal });
        const match = await scope.within(one.id, ms, ask, { signal }).catch((error: unknown) => {
          if (!signal.aborted) failed(turn, stage, `${one.id}: ${reasonOf(error)}`);
          return undefined;
        });
        if (signal.aborted) break;
        if (match?.outcome === 'plan') return match;
      }
    } catch (error) {
      if (!signal.aborted) failed(turn, stage, reasonOf(error));
    }
    if (signal.aborted)
      throw new CoreError('CANCELLED', { what: 'the interpreters', reason: 'the caller no longer waits' });
    return undefined;
  }
}

export interface Asked {
  readonly turn: string;
  readonly stage: 'local' | 'cloud';
  /** Why the text is sent, for the ledger. */
  readonly rule: string;
  readonly ms: number;
  readonly signal: AbortSignal;
}

function speaks(languages: readonly string[], language: string): boolean {
  const base = (tag: string) => tag.toLowerCase().split(/[-_]/)[0];
  return languages.length === 0 || languages.some((one) => base(one) === base(language));
}
