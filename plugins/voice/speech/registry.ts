/** Which engines there are, in which order they are asked, and how each of them does. */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import type { EngineDescription, EngineInfo, EngineKind, Engines } from '@device-core/plugin-api/services/speech';

export const KINDS: readonly EngineKind[] = ['vad', 'wake', 'stt', 'tts'];
const ID = /^[a-z][a-z0-9-]{0,31}$/;
const CHANGE = 'change';

export interface Settings {
  readonly order: Readonly<Partial<Record<EngineKind, readonly string[]>>>;
  readonly disabled: readonly string[];
  /** Milliseconds for which an engine that failed is not asked: at first, and at most. */
  readonly leastPauseMs: number;
  readonly mostPauseMs: number;
}

export interface Row<K extends EngineKind = EngineKind> {
  readonly kind: K;
  readonly description: EngineDescription;
  readonly engine: Engines[K];
  readonly owner: string;
  uses: number;
  failures: number;
  problem: string | undefined;
  /** Failures one after the other. */
  streak: number;
  /** Runs to the end of its pause. */
  pause: Disposable | undefined;
}

export interface Wanted {
  readonly language?: string | undefined;
  readonly stage?: 'local' | 'cloud' | undefined;
  readonly engine?: string | undefined;
  /** Its hits tell how strict a threshold they bear. */
  readonly scores?: boolean | undefined;
}

export class Registry {
  readonly #rows = new Set<Row>();
  readonly #listeners: Listeners<undefined>;
  readonly #scope: Scope;
  readonly #settings: Settings;

  constructor(scope: Scope, log: Logger, settings: Settings) {
    this.#scope = scope;
    this.#settings = settings;
    this.#listeners = new Listeners(log);
  }

  /** Throws PARAMS_INVALID. */
  register<K extends EngineKind>(
    kind: K,
    description: EngineDescription,
    engine: Engines[K],
    owner: string,
  ): AsyncDisposable {
    check(kind, description);
    const { id } = description;
    const other = [...this.#rows].find((row) => row.kind === kind && row.description.id === id);
    if (other) throw invalid('id', `there is an engine ${id} of kind ${kind} already, of ${other.owner}`);
    const counts = { uses: 0, failures: 0, problem: undefined, streak: 0, pause: undefined };
    const row: Row<K> = { kind, description, engine, owner, ...counts };
    this.#rows.add(row as unknown as Row);
    this.#changed();
    return {
      [Symbol.asyncDispose]: async () => {
        row.pause?.[Symbol.dispose]();
        if (this.#rows.delete(row as unknown as Row)) this.#changed();
      },
    };
  }

  list(kind?: EngineKind): readonly EngineInfo[] {
    return KINDS.filter((one) => kind === undefined || one === kind).flatMap((one) => {
      const ranked = this.#ranked(one);
      const rest = [...this.#rows].filter((row) => row.kind === one && !ranked.includes(row));
      return [...ranked, ...rest].map((row) => {
        const { description, owner, uses, failures, problem } = row;
        const rank = ranked.indexOf(row);
        const placed = rank < 0 ? {} : { rank };
        return { ...description, kind: one, owner, ...placed, uses, failures, ...(problem && { problem }) };
      });
    });
  }

  /** Those that fit and are well, the first to be asked first. Throws ENGINE_MISSING, which says why there is none. */
  choose<K extends EngineKind>(kind: K, wanted: Wanted): readonly Row<K>[] {
    const { language, stage, engine, scores } = wanted;
    const fitting = this.fitting(kind, wanted);
    const well = fitting.filter(({ pause }) => pause === undefined);
    if (well.length > 0) return well;
    const asked = [
      engine,
      stage,
      language && `for ${language}`,
      scores && 'that tells how strict a threshold a hit bears',
    ]
      .filter(Boolean)
      .join(', ');
    const reason = fitting.map(({ description, problem }) => `${description.id} is put aside: ${problem}`).join('; ');
    throw new CoreError('ENGINE_MISSING', { kind, reason: reason || `none is registered${asked && ` (${asked})`}` });
  }

  /** Those that fit, well or not, the first to be asked first. */
  fitting<K extends EngineKind>(kind: K, { language, stage, engine, scores }: Wanted): readonly Row<K>[] {
    return this.#ranked(kind).filter(
      ({ description }) =>
        (engine === undefined || description.id === engine) &&
        (stage === undefined || description.stage === stage) &&
        (!scores || description.scores === true) &&
        (language === undefined || knows(description, language)),
    ) as unknown as readonly Row<K>[];
  }

  began(row: Row): void {
    row.uses++;
  }

  /** It has given what was asked of it. */
  served(row: Row): void {
    row.streak = 0;
    if (row.problem === undefined) return;
    row.problem = undefined;
    this.#changed();
  }

  /** It is not asked for 1, 2, 4 .. 30 seconds. */
  failed(row: Row, error: unknown): void {
    row.failures++;
    row.problem = reasonOf(error);
    const { leastPauseMs, mostPauseMs } = this.#settings;
    const ms = Math.min(mostPauseMs, leastPauseMs * 2 ** row.streak);
    row.streak++;
    row.pause?.[Symbol.dispose]();
    row.pause = undefined;
    if (this.#rows.has(row))
      row.pause = this.#scope.timeout(`pause of ${row.kind} engine ${row.description.id}`, ms, () => {
        row.pause = undefined;
        this.#changed();
      });
    this.#changed();
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(CHANGE, listener);
  }

  #ranked(kind: EngineKind): readonly Row[] {
    const order = this.#settings.order[kind] ?? [];
    const place = ({ description: { id } }: Row) => (order.includes(id) ? order.indexOf(id) : order.length);
    return [...this.#rows]
      .filter((row) => row.kind === kind && !this.#settings.disabled.includes(row.description.id))
      .sort((one, other) => place(one) - place(other) || (one.description.id < other.description.id ? -1 : 1));
  }

  #changed(): void {
    this.#listeners.tell(CHANGE, undefined);
  }
}

/** `en` serves `en-GB` and the other way round; an engine that names no language needs none. */
function knows({ languages }: EngineDescription, language: string): boolean {
  const [base] = language.toLowerCase().split('-');
  return languages.length === 0 || languages.some((one) => one.toLowerCase().split('-')[0] === base);
}

function check(kind: EngineKind, description: EngineDescription): void {
  const { id, title, languages, stage } = description;
  if (!KINDS.includes(kind)) throw invalid('kind', `${kind} is none of ${KINDS.join(', ')}`);
  if (!ID.test(id)) throw invalid('id', `${id} is no name of an engine: ${ID.source}`);
  if (typeof title !== 'string' || title === '') throw invalid('title', 'it is empty');
  if (!Array.isArray(languages)) throw invalid('languages', 'they are no list');
  if (stage !== 'local' && stage !== 'cloud') throw invalid('stage', `${String(stage)} is neither local nor cloud`);
}

function invalid(where: string, reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where, reason });
}
