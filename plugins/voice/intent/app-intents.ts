/** Functions of apps that can be called by voice: kept in step with the registry of functions, and with who may be called and is there. */
import {
  type Capabilities,
  CoreError,
  grantHint,
  type Logger,
  maybe,
  reasonOf,
  type Scope,
} from '@device-core/plugin-api';
import type {
  FunctionEntry,
  FunctionInfo,
  FunctionLeftOut,
  Functions,
} from '@device-core/plugin-api/services/functions';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import type { Catalogue, Row } from './catalogue.ts';
import { compileUtterances, UtteranceError } from './utterances.ts';

export interface LeftOut {
  readonly app: string;
  readonly function: string;
  readonly reason: string;
}

interface Known {
  /** Equal while nothing of it changed. */
  readonly mark: string;
  readonly row: Row;
}

const AFTER_MS = 20;
const CAPABILITY = 'audio.intent';

export class AppIntents {
  readonly #catalogue: Catalogue;
  readonly #capabilities: Capabilities;
  readonly #log: Logger;
  readonly #language: string;
  readonly #known = new Map<string, Known>();
  #leftOut: readonly LeftOut[] = [];

  constructor(catalogue: Catalogue, capabilities: Capabilities, log: Logger, language: string) {
    this.#catalogue = catalogue;
    this.#capabilities = capabilities;
    this.#log = log;
    this.#language = language;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  /** Policy of registration: the refusal, if any. */
  check(app: string, entry: FunctionEntry): CoreError | undefined {
    try {
      compileUtterances(app, entry, this.#language);
      return undefined;
    } catch (thrown) {
      if (thrown instanceof UtteranceError)
        return new CoreError('FUNCTION_INVALID', { name: entry.name, reason: thrown.message });
      throw thrown;
    }
  }

  /** Follows the registry as long as it is there. The result asks for another look, for what the registry does not tell. */
  follow(functions: Functions, scope: Scope): () => void {
    let looking = false;
    let again = false;
    let due = false;
    const look = async () => {
      due = false;
      if (looking) {
        again = true;
        return;
      }
      looking = true;
      try {
        do {
          again = false;
          const list = await functions.list();
          const refused = await functions.leftOut();
          if (!scope.signal.aborted) this.#take(list, refused, functions);
        } while (again && !scope.signal.aborted);
      } catch (error) {
        if (!scope.signal.aborted)
          this.#log.warn(
            { error: reasonOf(error) },
            'cannot read the functions of apps: their intents stay as they were',
          );
      } finally {
        looking = false;
      }
    };
    // Apps register one function after the other.
    const soon = () => {
      if (due || scope.signal.aborted) return;
      due = true;
      scope.timeout('look at the functions', AFTER_MS, look);
    };
    scope.use('function listener', functions.onChange(soon));
    scope.defer('intents of apps', () => this.#take([], [], functions));
    soon();
    return soon;
  }

  #take(list: readonly FunctionInfo[], refused: readonly FunctionLeftOut[], functions: Functions): void {
    const leftOut: LeftOut[] = refused
      .filter(({ utterances = [] }) => utterances.length > 0)
      .map(({ app, name, reason, hint }) => ({
        app,
        function: name,
        reason: hint === undefined ? reason : `${reason}; grant it with "${hint}"`,
      }));
    const lost = new Set(refused.map(({ app, name, version }) => `${app}/${name}@${version}`));
    const seen = new Set<string>();
    for (const info of list) {
      const { app, name, utterances = [] } = info;
      const id = `${app}.${name}`;
      // The newest version comes first, and is the one that can be said.
      if (seen.has(id)) continue;
      seen.add(id);
      if (lost.has(info.id)) {
        this.#drop(id);
        continue;
      }
      const reason = utterances.length === 0 ? '' : this.#keep(id, info, functions);
      if (reason) leftOut.push({ app, function: name, reason });
      if (reason !== undefined) this.#drop(id);
    }
    for (const id of [...this.#known.keys()]) if (!seen.has(id)) this.#drop(id);
    this.#tell(leftOut);
  }

  /** Undefined where it is in; else why it is not. */
  #keep(id: string, info: FunctionInfo, functions: Functions): string | undefined {
    const { app, name, version, utterances, inputs, description, available } = info;
    if (!this.#mayBeCalled(app))
      return `the app does not hold ${CAPABILITY}; grant it with "${grantHint({ kind: 'app', id: app }, CAPABILITY)}"`;
    const mark = JSON.stringify([version, utterances, inputs, description, available]);
    const known = this.#known.get(id);
    if (known?.mark === mark) return undefined;
    try {
      const compiled = compileUtterances(app, info, this.#language)!;
      const run = (run: IntentRun) => this.#call(functions, app, name, version, run);
      const owner = `app.${app}`;
      const row = known
        ? { compiled, run, owner, awake: available }
        : this.#catalogue.put(compiled, run, owner, available);
      if (known) this.#catalogue.replace(known.row, row);
      this.#known.set(id, { mark, row });
      return undefined;
    } catch (thrown) {
      if (thrown instanceof UtteranceError || thrown instanceof CoreError) return thrown.message;
      throw thrown;
    }
  }

  #drop(id: string): void {
    const known = this.#known.get(id);
    this.#known.delete(id);
    if (known) this.#catalogue.remove(known.row);
  }

  #tell(leftOut: readonly LeftOut[]): void {
    const before = new Set(this.#leftOut.map((one) => JSON.stringify(one)));
    for (const one of leftOut)
      if (!before.has(JSON.stringify(one)))
        this.#log.warn({ ...one }, `${one.function} of ${one.app} cannot be said: ${one.reason}`);
    this.#leftOut = leftOut;
  }

  #mayBeCalled(app: string): boolean {
    return this.#capabilities.holds({ kind: 'app', id: app }, CAPABILITY);
  }

  async #call(functions: Functions, app: string, name: string, version: string, run: IntentRun): Promise<IntentAnswer> {
    this.#capabilities.require({ kind: 'app', id: app }, CAPABILITY);
    const { slots, signal, deadline, trace } = run;
    const caller = { kind: 'plugin', id: 'intent' } as const;
    const result = await functions.call({
      app,
      name,
      version,
      inputs: slots,
      caller,
      signal,
      deadline,
      ...maybe({ trace }),
    });
    const { say, followUp } = result;
    if (say !== undefined && typeof say !== 'string')
      this.#log.warn({ app, function: name }, `"say" of ${name} is no string, and is not spoken`);
    return { ...(typeof say === 'string' && { say }), ...(followUp === true && { followUp }), result };
  }
}
