/**
 * Descriptors that outlast the Core: the service manager holds a copy of each, and hands it to the next process of the
 * Core (sd_pid_notify_with_fds(3), sd_listen_fds(3)). A line of GPIO keeps its level that long. Descriptors belong to
 * the process, and are found before any service is there: this is one object of the main thread, and no service.
 */

/** The first descriptor that a service manager passes. */
const FIRST = 3;
/** In front of the names here; the rest of what a service manager passes are sockets of its units. */
const MARK = 'held/';

/** Never waits. Tells a failure by itself. */
export type TellManager = (message: string, descriptor?: number) => unknown;

type Variables = Readonly<Record<string, string | undefined>>;

interface Held {
  readonly descriptor: number;
  readonly ended: string;
}

export class DescriptorStore {
  readonly #left: Map<string, number>;
  readonly #held = new Map<string, Held>();
  #tell: TellManager | undefined;
  #ending = false;

  constructor(env: Variables, pid: number) {
    this.#left = new Map(leftFor(env, pid));
  }

  /** The descriptor that a former process of the Core left under this name; it is the caller's from now on. */
  take(name: string): number | undefined {
    const descriptor = this.#left.get(name);
    this.#left.delete(name);
    if (descriptor !== undefined) this.#held.set(name, { descriptor, ended: name });
    return descriptor;
  }

  /**
   * The service manager gets a copy, in the place of what had the name; where there is none, nothing happens. `ended` is
   * the name for the next process, where this one ends in order.
   */
  hold(name: string, descriptor: number, ended = name): void {
    const former = this.#held.get(name);
    this.#held.set(name, { descriptor, ended });
    if (former?.descriptor !== descriptor) this.#store(name, descriptor);
  }

  /** The caller is about to close its descriptor. The service manager gives its copy up, if the Core does not end. */
  part(name: string): void {
    this.#held.delete(name);
    if (!this.#ending) this.#remove(name);
  }

  /** The service manager can be told now, of what came before as well. */
  attach(tell: TellManager): Disposable {
    this.#tell = tell;
    for (const [name, { descriptor }] of this.#held) this.#store(name, descriptor);
    return {
      [Symbol.dispose]: () => {
        if (this.#tell === tell) this.#tell = undefined;
      },
    };
  }

  /** The Core ends, and copies stay. Plugins are asked to end after that, and the one that tells the manager among the first. */
  end(): void {
    this.#ending = true;
    for (const [name, { descriptor, ended }] of this.#held) {
      if (ended === name) continue;
      this.#store(ended, descriptor);
      this.#remove(name);
    }
  }

  /** There is something that no plugin has taken yet. */
  get waits(): boolean {
    return this.#left.size > 0;
  }

  /** Gives up what a former process left and no plugin has taken. The caller closes the descriptors. */
  release(): readonly (readonly [name: string, descriptor: number])[] {
    const all = [...this.#left];
    this.#left.clear();
    for (const [name] of all) this.#remove(name);
    return all;
  }

  #store(name: string, descriptor: number): void {
    this.#remove(name);
    // Without FDPOLL=0 the manager would drop a line that hung up, and look at each one until then.
    this.#tell?.(`FDSTORE=1\nFDPOLL=0\nFDNAME=${MARK}${name}`, descriptor);
  }

  #remove(name: string): void {
    this.#tell?.(`FDSTOREREMOVE=1\nFDNAME=${MARK}${name}`);
  }
}

/** Nothing where the variables are meant for another process. */
function leftFor({ LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES }: Variables, pid: number): readonly [string, number][] {
  if (LISTEN_PID !== String(pid)) return [];
  const names = (LISTEN_FDNAMES ?? '').split(':').slice(0, Number(LISTEN_FDS) || 0);
  return names.flatMap((name, index): [string, number][] =>
    name.startsWith(MARK) ? [[name.slice(MARK.length), FIRST + index]] : [],
  );
}

export const descriptorStore = new DescriptorStore(process.env, process.pid);
