/**
 * Sampler of the stack every few milliseconds: it finds the running plugin also after an await, in socket handlers,
 * anywhere on this thread.
 */
import type { Profiler, Session } from 'node:inspector';
import { pathToFileURL } from 'node:url';
import { CoreError, type SampledUsage } from '@device-core/plugin-api';

/** A plugin and the folder of its code. */
export type Folder = readonly [plugin: string, folder: string];
type Found = { -readonly [K in keyof SampledUsage]: SampledUsage[K] };
type Node = Profiler.ProfileNode;

const INTERVAL_MICROS = 5_000;
/** To begin takes long itself; who watches for delays is over it after this time. */
const SETTLE_MS = 50;
/** Most places in the code that are named for one plugin, and most functions. */
const LOOKED_AT = 32;
const TOLD = 8;

/** Costs a few hundredths of the CPU while it runs, and tens of milliseconds to begin with. */
export class Sampler {
  readonly #folders: () => readonly Folder[];
  #wait: { readonly timer: NodeJS.Timeout; readonly resolve: () => void } | undefined;
  #running = false;
  #enough = false;

  constructor(folders: () => readonly Folder[]) {
    this.#folders = folders;
  }

  /** It has begun, or is about to. */
  get running(): boolean {
    return this.#running;
  }

  /** A delay that happens now is seen, and is not its own. */
  get looking(): boolean {
    return this.#wait !== undefined;
  }

  /** Samples until `ms` are over or finish() is called. Rejects with BUSY while it runs already. */
  async run(ms: number): Promise<readonly SampledUsage[]> {
    if (this.#running) throw new CoreError('BUSY', { what: 'sampling', limit: 1 });
    this.#running = true;
    this.#enough = false;
    try {
      const inspector = await import('node:inspector');
      const session = new inspector.Session();
      session.connect();
      try {
        return summary(await this.#profile(session, ms), this.#folders());
      } finally {
        session.disconnect();
      }
    } finally {
      this.#running = false;
    }
  }

  /** Ends a run early; it resolves with what it has seen. */
  finish(): void {
    this.#enough = true;
    clearTimeout(this.#wait?.timer);
    this.#wait?.resolve();
    this.#wait = undefined;
  }

  async #profile(session: Session, ms: number): Promise<Profiler.Profile> {
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: INTERVAL_MICROS });
    session.post('Profiler.start');
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS).unref());
    const { promise, resolve } = Promise.withResolvers<void>();
    if (!this.#enough) {
      this.#wait = { timer: setTimeout(() => this.finish(), ms).unref(), resolve };
      await promise;
    }
    return await new Promise((settle, reject) =>
      session.post('Profiler.stop', (error, { profile }) => (error ? reject(error) : settle(profile))),
    );
  }
}

/** By plugin, the busiest first; what is no plugin's is `core`, idle time is left out. */
export function summary(profile: Profiler.Profile, folders: readonly Folder[]): readonly SampledUsage[] {
  const { samples = [], timeDeltas = [] } = profile;
  const places = folders.map(
    ([plugin, folder]) => [plugin, pathToFileURL(`${folder.replace(/\/$/, '')}/`).href] as const,
  );
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const owners = ownersOf(profile.nodes, nodes, places);
  const found = new Map<string, Found>();
  const heat = new Map<Node, number>();
  const hot = new Map<string, Set<Node>>();
  let run: { owner: string | undefined; ms: number } = { owner: undefined, ms: 0 };
  for (const [index, id] of samples.entries()) {
    const ms = (timeDeltas[index + 1] ?? 0) / 1000;
    const node = nodes.get(id)!;
    const collecting = node.callFrame.functionName === '(garbage collector)';
    // Memory is cleared away for the one who used it.
    const owner = collecting ? run.owner : owners.get(node);
    run = owner === run.owner ? { owner, ms: run.ms + ms } : { owner, ms };
    if (owner === undefined) continue;
    const one = found.get(owner) ?? { plugin: owner, busyMs: 0, longestMs: 0, where: '', functions: [] };
    found.set(owner, one);
    one.busyMs += ms;
    one.longestMs = Math.max(one.longestMs, run.ms);
    if (collecting) continue;
    heat.set(node, (heat.get(node) ?? 0) + ms);
    hot.set(owner, (hot.get(owner) ?? new Set()).add(node));
  }
  for (const [owner, of] of hot) {
    const hottest = [...of].sort((a, b) => heat.get(b)! - heat.get(a)!).slice(0, LOOKED_AT);
    const functions = new Map<string, number>();
    for (const node of hottest) {
      const where = place(node, nodes, places);
      functions.set(where, (functions.get(where) ?? 0) + heat.get(node)!);
    }
    const one = found.get(owner)!;
    one.where = place(hottest[0]!, nodes, places);
    one.functions = [...functions]
      .map(([where, ms]) => ({ where, ms }))
      .sort((a, b) => b.ms - a.ms)
      .slice(0, TOLD);
  }
  return [...found.values()].sort((a, b) => b.busyMs - a.busyMs);
}

/** Owner of each node: the innermost plugin on its stack, so that the code that a plugin calls counts for it. */
function ownersOf(
  list: readonly Node[],
  nodes: ReadonlyMap<number, Node>,
  places: readonly Folder[],
): ReadonlyMap<Node, string | undefined> {
  const owners = new Map<Node, string | undefined>();
  const visit = (node: Node, caller: string | undefined): void => {
    const { url, functionName } = node.callFrame;
    const nobody = functionName === '(root)' || functionName === '(idle)' || functionName === '(program)';
    const owner = places.find(([, folder]) => url.startsWith(folder))?.[0] ?? caller ?? (nobody ? undefined : 'core');
    owners.set(node, owner);
    for (const child of node.children ?? []) visit(nodes.get(child)!, owner);
  };
  if (list[0]) visit(list[0], undefined);
  return owners;
}

/** The function of the plugin that the node belongs to: itself or what called it. */
function place(node: Node, nodes: ReadonlyMap<number, Node>, places: readonly Folder[]): string {
  const within = ({ callFrame }: Node) => places.find(([, folder]) => callFrame.url.startsWith(folder));
  let frame: Node | undefined = node;
  while (frame && !within(frame)) frame = [...nodes.values()].find(({ children }) => children?.includes(frame!.id));
  const { functionName, url, lineNumber } = (frame ?? node).callFrame;
  const name = functionName || 'an anonymous function';
  const folder = frame && within(frame)?.[1];
  return folder ? `${name} (${url.slice(folder.length)}:${lineNumber + 1})` : name;
}
