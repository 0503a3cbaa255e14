import { dirname, join } from 'node:path';
import type { OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppContext } from './app-context.ts';
import type { AppInFolder } from './crash-account.ts';
import { RateLimit } from './rate-limit.ts';

/** Lines of an app: those of log.write, and complaints of a developer's app, which go to the terminal. */
export class AppOutput {
  /** Limit of log.write. */
  readonly logRate: RateLimit;
  /** Limit of output lines shown in the terminal. */
  readonly #shownRate: RateLimit;
  readonly #app: AppInFolder;
  readonly #context: AppContext;
  /** A developer named the folder of the app: it is not installed. */
  readonly #isNamed: boolean;
  #shown: Disposable | undefined;

  constructor(app: AppInFolder, context: AppContext) {
    this.logRate = new RateLimit(context.config.logRate);
    this.#shownRate = new RateLimit(context.config.logRate);
    this.#app = app;
    this.#context = context;
    this.#isNamed = dirname(app.folder) !== join(context.device.paths.var, 'apps');
  }

  /** A line of log.write. */
  write(line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    return this.#context.appSupervisor.write(this.#app.manifest.name, line);
  }

  /** Shows complaints of a run in the terminal, where the app is a developer's. */
  show(): void {
    if (!this.#isNamed) return;
    this.#shown = this.#context.appSupervisor.onOutput(this.#app.manifest.name, (line) => this.#shout(line));
  }

  hide(): void {
    this.#shown?.[Symbol.dispose]();
    this.#shown = undefined;
  }

  #shout({ level, from, text }: OutputLine): void {
    const { log, scope } = this.#context;
    const quiet = level === 'debug' || level === 'info' || from === 'log';
    if (quiet || this.#shownRate.take(scope.clock.monotonic()) > 0) return;
    log[level]({ app: this.#app.manifest.id, from }, text);
  }
}
