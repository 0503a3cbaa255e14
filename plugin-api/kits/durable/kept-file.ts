/**
 * One value of a plugin in one JSON file that outlives the Core, with its last good copy. It opens whatever lies there
 * and whatever the disk is like; what is wrong is told in the health, with what follows from it. What the disk does not
 * take is written as soon as it does.
 */

import { dirname } from 'node:path';
import { CoreError, reasonOf } from '../../contract/errors.ts';
import type { Logger } from '../../contract/logger.ts';
import type { Scope } from '../../contract/scope.ts';
import { isNewer, newerForm } from '../../contract/state-form.ts';
import type { HealthReport } from '../../services/health.ts';
import { maybe } from '../maybe.ts';
import { makeFolder } from './folders.ts';
import { formFile, type MadeFrom, openForms } from './forms.ts';
import { sweepLeftovers } from './names.ts';
import { readState } from './read.ts';
import { recoverFile } from './recover.ts';
import { replaceFile } from './replace.ts';

/** A disk that refused is asked again after so long. */
const AGAIN_MS = 5_000;

export interface KeptForm<T> {
  /** Number of the form that is written, and the newest that can be read. */
  readonly form: number;
  readonly initial: T;
  /** How files of older forms are read, by form. The file of this form lies beside them: openForms(). */
  readonly former?: Readonly<Record<number, (found: Readonly<Record<string, unknown>>) => T | undefined>>;
  /** The value of a file of this form; undefined or an exception where it is damaged. */
  parse(found: Record<string, unknown>): T | undefined;
  /** Members of the file beside `format`. */
  format(value: T): object;
  /** Consequence of a file that cannot be written: `timers do not outlive a restart`. */
  readonly consequence: string;
}

export class KeptFile<T> {
  readonly path: string;
  /** Path of form 1. */
  readonly #first: string;
  #from: MadeFrom | undefined;
  /** Files of newer forms beside it. */
  #beside: readonly string[] = [];
  readonly #form: KeptForm<T>;
  readonly #scope: Scope;
  readonly #log: Logger;
  #value: T;
  #newer: CoreError | undefined;
  #damage: string | undefined;
  #trouble: CoreError | undefined;
  #again: Disposable | undefined;
  #writing: Promise<void> | undefined;

  private constructor(path: string, form: KeptForm<T>, scope: Scope, log: Logger) {
    this.path = formFile(path, form.form);
    this.#first = path;
    this.#form = form;
    this.#scope = scope;
    this.#log = log;
    this.#value = form.initial;
  }

  /** Never rejects for the sake of the file or of the disk: look at `tell()`. */
  static async open<T>(path: string, form: KeptForm<T>, scope: Scope, log: Logger): Promise<KeptFile<T>> {
    const kept = new KeptFile(path, form, scope, log);
    await kept.#open();
    scope.defer(`last write of ${path}`, () => kept.#end());
    return kept;
  }

  /** The value in force, on the disk or not. */
  get value(): T {
    return this.#value;
  }

  /** A newer Core wrote the file, and it is left alone. */
  get newer(): CoreError | undefined {
    return this.#newer;
  }

  /** Why the last write failed; undefined when all is on the disk. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /**
   * In force at once; durable when it resolves. Of many changes at once the last is written. Rejects with the codes of replaceFile(), or
   * STATE_NEWER: the value is in force until the Core ends, and what the disk refused is written when it takes it.
   */
  async set(value: T): Promise<void> {
    this.#value = value;
    if (this.#newer) throw this.#newer;
    this.#writing = this.#write();
    await this.#writing;
  }

  /** Adds to the health what is wrong, if anything; `part` is `<plugin>.<part>`. */
  tell(report: HealthReport, part: string): void {
    const { consequence } = this.#form;
    if (this.#newer) report.warn('STATE_NEWER', `${consequence}: ${this.#newer.message}`);
    for (const name of this.#beside)
      report.warn(
        'STATE_NEWER',
        `${name} beside ${this.path} is left alone: what a newer Core changed there is not seen`,
      );
    if (this.#damage !== undefined) report.warn('STATE_CORRUPT', this.#damage);
    if (!this.#trouble) return;
    report.add(part, {
      status: 'error',
      code: this.#trouble.code,
      message: `${consequence}: ${this.#trouble.message}`,
    });
  }

  /** Waits for running writes; a refused value is written once more. */
  async #end(): Promise<void> {
    await this.#writing?.catch(() => undefined); // told to whoever set it
    if (this.#trouble) await this.#write().catch(() => undefined); // logged when it began
  }

  async #open(): Promise<void> {
    try {
      await makeFolder(dirname(this.path));
      await sweepLeftovers(this.path);
    } catch (error) {
      this.#fails(error); // it is read all the same
    }
    try {
      await this.#choose();
    } catch (error) {
      this.#fails(error); // what is there of this form is read all the same
    }
    try {
      this.#value = (await this.#read(this.path)) ?? this.#form.initial;
    } catch (error) {
      if (isNewer(error)) this.#newer = error;
      else await this.#recover(reasonOf(error));
    }
    const told = this.#newer?.message ?? this.#damage;
    if (told !== undefined) this.#log.warn({ file: this.path }, told);
  }

  /** Which form holds, where there are more. */
  async #choose(): Promise<void> {
    const { form, former = {}, format } = this.#form;
    const reads = [...Object.keys(former).map(Number), form];
    const make = (found: Readonly<Record<string, unknown>>, of: number): object | undefined => {
      const value = former[of]?.(found);
      return value === undefined ? undefined : format(value);
    };
    const { from, newer } = await openForms({ path: this.#first, forms: { reads, writes: form }, make });
    this.#from = from;
    this.#beside = newer;
  }

  async #recover(reason: string): Promise<void> {
    const good = await this.#read(`${this.path}.last-good`).catch((error) => {
      if (isNewer(error)) this.#newer = error;
      return undefined; // told below: it was lost
    });
    if (this.#newer) return; // the newer Core mends the file from its own copy
    if (good !== undefined) this.#value = good;
    let aside = '';
    try {
      aside = ` it was set aside as ${await recoverFile(this.path, good === undefined ? undefined : this.#text())},`;
    } catch (error) {
      this.#fails(error);
    }
    this.#damage = `${reason};${aside} ${good === undefined ? 'what it held is lost' : 'its last good copy is used'}`;
  }

  async #read(path: string): Promise<T | undefined> {
    const text = await readState(path);
    if (text === undefined) return undefined;
    const corrupt = (reason: string) => new CoreError('STATE_CORRUPT', { file: path, reason });
    let found: unknown;
    try {
      found = JSON.parse(text);
    } catch (error) {
      throw corrupt(text === '' ? 'it is empty' : reasonOf(error));
    }
    if (typeof found !== 'object' || found === null || Array.isArray(found)) throw corrupt('it is no object');
    const newer = newerForm(this.path, 'format' in found ? found.format : undefined, this.#form.form);
    if (newer) throw newer;
    const value = this.#form.parse(found as Record<string, unknown>);
    if (value === undefined) throw corrupt('it does not hold the written bytes');
    return value;
  }

  async #write(): Promise<void> {
    try {
      await makeFolder(dirname(this.path));
      await replaceFile(this.path, this.#text(), { lastGood: true });
    } catch (error) {
      this.#fails(error);
      throw error;
    }
    this.#again?.[Symbol.dispose]();
    this.#again = undefined;
    if (this.#trouble) this.#log.info({ file: this.path }, 'the disk takes it again: all is written');
    this.#trouble = undefined;
  }

  #text(): string {
    const head = { format: this.#form.form, ...maybe({ from: this.#from }) };
    return `${JSON.stringify({ ...head, ...this.#form.format(this.#value) })}\n`;
  }

  /** Told once, not with every write; tried again until it succeeds. */
  #fails(error: unknown): void {
    const trouble =
      error instanceof CoreError
        ? error
        : new CoreError('STATE_UNWRITABLE', { file: this.path, reason: reasonOf(error) });
    if (this.#trouble?.code !== trouble.code)
      this.#log.warn({ file: this.path }, `${this.#form.consequence}: ${trouble.message}`);
    this.#trouble = trouble;
    if (this.#scope.signal.aborted) return;
    this.#again ??= this.#scope.timeout(`write ${this.path} again`, AGAIN_MS, async () => {
      this.#again = undefined;
      await this.#write().catch(() => undefined); // told as the trouble
    });
  }
}
