/** In which order apps start: `lifecycle.after` names those that go before, where they are there. Pure. */
import type { AppManifest } from '@device-core/plugin-api/services/apps';

type Ordered = Pick<AppManifest, 'id'> & {
  readonly lifecycle?: { readonly autostart?: unknown; readonly after?: readonly string[] };
};

/**
 * Apps that wait for themselves, by id, with the way round: these cannot start at all. One that waits for such an app
 * without being part of the circle is none of them.
 */
export function waitingForThemselves(apps: readonly Ordered[]): ReadonlyMap<string, readonly string[]> {
  const byId = new Map(apps.map((app) => [app.id, app]));
  const circles = new Map<string, readonly string[]>();
  for (const { id } of apps) {
    const way = wayBack(id, byId);
    if (way) circles.set(id, way);
  }
  return circles;
}

/** The shortest way from an app to itself. Looks at each app once. */
function wayBack(id: string, byId: ReadonlyMap<string, Ordered>): readonly string[] | undefined {
  const before = new Map<string, string>();
  const open = [id];
  for (let at = open.shift(); at !== undefined; at = open.shift()) {
    for (const next of byId.get(at)?.lifecycle?.after ?? []) {
      if (next === id) return [...trace(at, before), id];
      if (!byId.has(next) || before.has(next)) continue;
      before.set(next, at);
      open.push(next);
    }
  }
  return undefined;
}

function trace(from: string, before: ReadonlyMap<string, string>): readonly string[] {
  const way = [from];
  for (let at = before.get(from); at !== undefined; at = before.get(at)) way.unshift(at);
  return way;
}

/** App -> those that it comes after. */
export type After = ReadonlyMap<string, readonly string[]>;

/**
 * Runs `start` for every app, so many at a time, each after those that it names and that are among them. One that fails
 * to start holds up nobody: it is order only. Circles have to be left out before.
 */
export async function startInOrder(
  after: After,
  atOnce: number,
  start: (app: string) => Promise<unknown>,
): Promise<void> {
  const started = new Map<string, Promise<void>>();
  let free = atOnce;
  const waiting: (() => void)[] = [];
  const turn = async (app: string): Promise<void> => {
    await Promise.all((after.get(app) ?? []).flatMap((before) => (after.has(before) ? [begin(before)] : [])));
    while (free === 0) await new Promise<void>((resolve) => void waiting.push(resolve));
    free -= 1;
    try {
      await start(app);
    } finally {
      free += 1;
      waiting.shift()?.();
    }
  };
  const begin = (app: string): Promise<void> => {
    let done = started.get(app);
    if (!done) {
      done = turn(app);
      started.set(app, done);
    }
    return done;
  };
  await Promise.all([...after.keys()].map(begin));
}
