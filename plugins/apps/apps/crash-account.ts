import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { AppContext } from './app-context.ts';
import { type CrashLine, crashLine } from './crash-line.ts';
import { lastWords } from './last-words.ts';
import { refusalsSince } from './refusals.ts';

export interface AppInFolder {
  readonly manifest: { readonly id: string; readonly name: string };
  readonly folder: string;
}

/** Account of the last run that ended by itself: its last words, what was refused to it, and how often that came. */
export class CrashAccount {
  readonly #app: AppInFolder;
  readonly #context: AppContext;
  #line: CrashLine | undefined;
  /** Refusals of the run that crashed. */
  #refused = '';
  #launchedAt = 0;
  #lastEnd: AppStatus['lastEnd'];

  constructor(app: AppInFolder, context: AppContext) {
    this.#app = app;
    this.#context = context;
  }

  get lastEnd(): AppStatus['lastEnd'] {
    return this.#lastEnd;
  }

  /** Type of the error and place in its code, without what the app works with. */
  get place(): string | undefined {
    return this.#line?.place;
  }

  /** A new run begins, at milliseconds since the Unix epoch; the count of ends stays. */
  begin(at: number): void {
    this.#launchedAt = at;
    this.#line = undefined;
    this.#refused = '';
  }

  /** Reads the output and the refusals of a run. */
  async read(run: string | undefined): Promise<void> {
    const { manifest, folder } = this.#app;
    const { appSupervisor, grants } = this.#context;
    this.#line = crashLine(run === undefined ? [] : await lastWords(appSupervisor, manifest.name, run), folder);
    this.#refused = await refusalsSince(grants, manifest.id, this.#launchedAt);
  }

  ended(reason: string): void {
    const count = (this.#lastEnd?.count ?? 0) + 1;
    this.#lastEnd = { reason: this.explain(reason), at: this.#context.scope.clock.now(), count };
  }

  /** A reason with the output of the app, which may hold what other apps must not read. */
  explain(reason: string): string {
    const wrote = this.#line && `it wrote: ${this.#line.text}`;
    return [reason, wrote, this.#refused].filter(Boolean).join('; ');
  }
}
