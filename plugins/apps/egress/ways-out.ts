import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Egress, EgressRefusal, EgressUsage } from '@device-core/plugin-api/inside/services/egress';
import { makingPath, wayOutPath } from './socket-file.ts';
import type { WayOut, WayOutApp } from './way-out.ts';

/** Makes the way out of one app; what it needs is loaded for the first one. */
export type MakeWayOut = (app: WayOutApp, scope: ReturnType<Scope['child']>) => WayOut;

interface Place {
  readonly path: string;
  readonly way: WayOut;
  readonly ready: Promise<void>;
}

/** The ways out of all apps. */
export class WaysOut implements Egress {
  readonly #run: string;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #load: (refused: (refusal: EgressRefusal) => void) => Promise<MakeWayOut>;
  #making: Promise<MakeWayOut> | undefined;
  readonly #places = new Map<string, Place>();
  readonly #listeners = new Set<(refusal: EgressRefusal) => void>();

  constructor(
    run: string,
    scope: Scope,
    log: Logger,
    load: (refused: (refusal: EgressRefusal) => void) => Promise<MakeWayOut>,
  ) {
    this.#run = run;
    this.#scope = scope;
    this.#log = log;
    this.#load = load;
    scope.defer('ways out', async () => {
      await Promise.all([...this.#places.keys()].map((app) => this.close(app)));
    });
  }

  async open(app: WayOutApp): Promise<{ readonly path: string }> {
    this.#making ??= this.#load((refusal) => this.#tell(refusal));
    const make = await this.#making;
    const there = this.#places.get(app.id);
    if (there && there.way.app.name === app.name && there.way.app.uid === app.uid) {
      there.way.grant(app.hosts);
      await there.ready;
      return { path: there.path };
    }
    if (there) await this.close(app.id);
    const path = wayOutPath(this.#run, app.name);
    for (const [other, place] of this.#places)
      if (place.path === path && other !== app.id)
        throw new CoreError('PARAMS_INVALID', { where: 'the name of an app', reason: `${app.name} is taken` });
    const way = make(app, this.#scope.child(`way out of ${app.id}`));
    const place: Place = { path, way, ready: way.listen(makingPath(this.#run, app.name), path) };
    this.#places.set(app.id, place);
    try {
      await place.ready;
    } catch (thrown) {
      if (this.#places.get(app.id) === place) this.#places.delete(app.id);
      await way[Symbol.asyncDispose]();
      throw thrown;
    }
    return { path };
  }

  async close(app: string): Promise<void> {
    const place = this.#places.get(app);
    if (!place) return;
    this.#places.delete(app);
    await place.ready.catch(() => undefined); // whoever opened it was told
    await place.way[Symbol.asyncDispose]();
  }

  async usage(): Promise<readonly EgressUsage[]> {
    return [...this.#places.values()].map(({ way }) => way.usage());
  }

  onRefusal(listener: (refusal: EgressRefusal) => void): Disposable {
    const own = (refusal: EgressRefusal) => listener(refusal);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  #tell(refusal: EgressRefusal): void {
    this.#log.warn({ app: refusal.app, to: refusal.to, code: refusal.code }, `an app was refused: ${refusal.message}`);
    for (const listener of [...this.#listeners]) {
      try {
        listener(refusal);
      } catch (thrown) {
        this.#log.error({ reason: reasonOf(thrown) }, 'a listener of refusals failed');
      }
    }
  }

  /** Short name of an app that has a way out. */
  nameOf(app: string): string | undefined {
    return this.#places.get(app)?.way.app.name;
  }
}
