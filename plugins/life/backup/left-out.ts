/** Paths that a backup does not hold, in an order and a number that a person can read. Pure. */
export interface Left {
  readonly path: string;
  readonly reason: string;
}

const MOST = 100;
/** An app can make as many paths as it likes: so many are named. */
const MOST_OF_ONE = 10;
const APP = /^apps\/[^/]+/;

export class LeftOut {
  /** Apps whose data are left out as a whole. */
  readonly apps: Left[] = [];
  readonly #paths: Left[] = [];
  readonly #counts = new Map<string, number>();

  app(app: string, reason: string): void {
    this.apps.push({ path: dataOf(app), reason });
  }

  path(path: string, reason: string): void {
    const [owner = ''] = APP.exec(path) ?? [];
    const count = (this.#counts.get(owner) ?? 0) + 1;
    this.#counts.set(owner, count);
    if (owner === '' || count <= MOST_OF_ONE) this.#paths.push({ path, reason });
  }

  /** The data of this app are looked at anew, or are left out as a whole. */
  forget(app: string): void {
    const below = `${dataOf(app)}/`;
    for (let at = this.#paths.length - 1; at >= 0; at -= 1)
      if (this.#paths[at]!.path.startsWith(below)) this.#paths.splice(at, 1);
    this.#counts.delete(`apps/${app}`);
  }

  told(): readonly Left[] {
    const more = [...this.#counts].flatMap(([owner, count]) =>
      owner !== '' && count > MOST_OF_ONE ? [{ path: owner, reason: `${count - MOST_OF_ONE} more of its paths` }] : [],
    );
    const all = [...this.apps, ...[...more, ...this.#paths].sort((one, other) => (one.path < other.path ? -1 : 1))];
    if (all.length <= MOST) return all;
    return [...all.slice(0, MOST - 1), { path: '', reason: `${all.length - MOST + 1} more paths` }];
  }
}

const dataOf = (app: string): string => `apps/${app}/data`;
