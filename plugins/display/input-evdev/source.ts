/** One device of the SKU, for as long as the plugin runs: it is opened, read, and looked for when it is gone. */
import { type FSWatcher, watch } from 'node:fs';
import { basename } from 'node:path';
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { InputFeed } from '@device-core/plugin-api/input';
import type { InputEvent, Inputs } from '@device-core/plugin-api/services/input';
import { KNOBS, keyCode } from './codes.ts';
import { Decoder, type Meaning, type Orientation } from './decoder.ts';
import { describeWanted, type Folders, findNode, type Wanted } from './find.ts';
import type { EvdevNode } from './node.ts';
import { RecordSplitter } from './records.ts';

export interface DeviceSettings {
  readonly id: string;
  readonly device?: string;
  readonly name?: string;
  readonly grab: boolean;
  /** It is a touch screen or a tablet, and its places are wanted. */
  readonly touch?: Orientation;
  /** Names by `KEY_MUTE`. */
  readonly keys: Readonly<Record<string, string>>;
  /** Names by `REL_DIAL`. */
  readonly knobs: Readonly<Record<string, { readonly name: string; readonly reverse: boolean }>>;
}

export interface SourceOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly inputs: Inputs;
  readonly settings: DeviceSettings;
  readonly folders: Folders;
  open(path: string): Promise<EvdevNode>;
}

/** udev gives a new node its rights a moment after the kernel has made it. */
const PAUSE_MIN_MS = 250;
const PAUSE_MAX_MS = 60_000;
/** From then on a folder that can be watched is enough. */
const PAUSE_WATCHED_MS = 8_000;

export class EvdevSource {
  readonly #options: SourceOptions;
  readonly #wanted: Wanted;
  readonly #feed: InputFeed;
  #problem: string | undefined = 'it is looked for';
  #state: 'looking' | 'there' | 'gone' = 'looking';
  /** The registry knows that it is gone. */
  #told = false;
  #pause = PAUSE_MIN_MS;
  #timer: Disposable | undefined;
  /** Milliseconds from which it runs. */
  #waits = 0;
  #watcher: FSWatcher | undefined;

  private constructor(options: SourceOptions, feed: InputFeed) {
    const { device, name = '' } = options.settings;
    this.#options = options;
    this.#feed = feed;
    this.#wanted = device === undefined ? { name } : { device };
  }

  /** Resolves when the device was looked for once. Rejects with PARAMS_INVALID (a second source of this id). */
  static async start(options: SourceOptions): Promise<EvdevSource> {
    const { scope, inputs, settings } = options;
    const feed = await InputFeed.open(inputs, {
      id: `evdev:${settings.id}`,
      touch: settings.touch !== undefined,
      keys: [...new Set([...Object.values(settings.keys), ...Object.values(settings.knobs).map(({ name }) => name)])],
      injected: false,
    });
    scope.use('feed', feed);
    const source = new EvdevSource(options, feed);
    scope.defer('watch', () => source.#unwatch());
    await source.#look();
    return source;
  }

  /** Why nothing comes from it now. */
  get problem(): string | undefined {
    return this.#problem ?? this.#feed.report.problem;
  }

  async #look(): Promise<void> {
    const { scope, open, folders, settings, log } = this.#options;
    this.#timer = undefined;
    this.#state = 'looking';
    const part = scope.child(`device ${settings.id}`);
    try {
      const path = await findNode(this.#wanted, folders);
      if (path === undefined) throw new Error(`there is no ${describeWanted(this.#wanted).replace(/^a /, '')}`);
      const node = part.use('node', await open(path));
      const decoder = new Decoder(meaningOf(settings, node), () => node.state());
      if (settings.grab) grab(node);
      this.#state = 'there';
      this.#unwatch();
      await this.#tell(undefined);
      log.info({ device: path, name: node.name }, 'an input device is there');
      const add = (events: readonly InputEvent[]) => {
        for (const event of events) this.#feed.add(event);
      };
      add(decoder.sync(scope.clock.monotonic()));
      const splitter = new RecordSplitter();
      const ended = node.read((bytes) => {
        for (const record of splitter.push(bytes)) add(decoder.push(record));
      });
      void this.#until(ended, part);
    } catch (error) {
      await part[Symbol.asyncDispose]();
      await this.#lost(reasonOf(error));
    }
  }

  async #until(ended: Promise<string>, part: AsyncDisposable): Promise<void> {
    const reason = await ended;
    if (this.#options.scope.signal.aborted) return;
    await part[Symbol.asyncDispose]();
    this.#pause = PAUSE_MIN_MS;
    await this.#lost(`it is gone: ${reason}`);
  }

  async #lost(reason: string): Promise<void> {
    const { scope, log, settings } = this.#options;
    if (scope.signal.aborted) return;
    if (reason !== this.#problem) log.warn({ device: settings.id, reason }, 'an input device is not there');
    this.#state = 'gone';
    this.#later();
    await this.#tell(reason);
  }

  /** Watches for nodes that come, and looks a few times by itself. */
  #later(): void {
    const { scope } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (scope.signal.aborted) return;
    this.#watch();
    if (this.#watcher && this.#pause > PAUSE_WATCHED_MS) return;
    this.#waits = this.#pause;
    this.#timer = scope.timeout('look for the device', this.#pause, () => void this.#look());
    this.#pause = Math.min(PAUSE_MAX_MS, 2 * this.#pause);
  }

  #watch(): void {
    if (this.#watcher) return;
    try {
      const { nodes } = this.#options.folders;
      const watcher = watch(nodes, { persistent: false }, (_event, name) => {
        // devtmpfs removes the folder with its last node; the watch of a removed folder hears nothing more.
        if (name === basename(nodes)) this.#unwatch();
        this.#stirred();
      });
      watcher.once('error', () => this.#unwatch());
      this.#watcher = watcher;
    } catch {
      this.#watcher = undefined; // the folder comes with the first device: it is looked for by the clock
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Something came or went, or its rights changed. A look that is under way looks again after it. */
  #stirred(): void {
    this.#pause = PAUSE_MIN_MS;
    if (this.#state !== 'gone' || (this.#timer && this.#waits === PAUSE_MIN_MS)) return;
    this.#later();
  }

  async #tell(problem: string | undefined): Promise<void> {
    this.#problem = problem;
    // The registry begins with a device that is there.
    if (problem === undefined && !this.#told) return;
    this.#told = problem !== undefined;
    await this.#feed.problem(problem);
  }
}

/** Meaning of the device's records. Throws where the device is not as the SKU says. */
function meaningOf({ touch, keys, knobs }: DeviceSettings, node: EvdevNode): Meaning {
  if (touch && !node.touch) throw new Error(`${node.name} tells no places of fingers`);
  const codes = Object.entries(keys).map(([key, name]) => [keyCode(key), name] as const);
  const unknown = Object.keys(keys)[codes.findIndex(([code]) => code === undefined)];
  if (unknown !== undefined) throw new Error(`${unknown} is no name of a key that is known: give its number`);
  return {
    ...(touch && node.touch ? { touch: { shape: node.touch, orientation: touch } } : {}),
    keys: new Map(codes as readonly (readonly [number, string])[]),
    knobs: new Map(Object.entries(knobs).map(([code, knob]) => [KNOBS[code as keyof typeof KNOBS], knob])),
  };
}

function grab(node: EvdevNode): void {
  try {
    node.grab();
  } catch (cause) {
    throw new Error(`another program has ${node.name} for itself (${reasonOf(cause)})`, { cause });
  }
}
