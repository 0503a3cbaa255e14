/** A flame graph in SVG of a CPU profile of V8: what called what from top to bottom, as wide as its CPU time. The same profile gives the same bytes. */
import { fileURLToPath } from 'node:url';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** The part of a `.cpuprofile` that counts; times in microseconds of the monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Whose code it is, in the order of the legend. */
export const ORIGINS = ['kernel', 'plugin-api', 'plugins', 'packages', 'Node', 'collector'] as const;
export type Origin = (typeof ORIGINS)[number];

export interface Flame {
  readonly name: string;
  /** Where the function stands, for example `kernel/boot/run.ts:12`. */
  readonly place: string;
  readonly origin: Origin;
  /** Microseconds with what it called, and without. */
  total: number;
  self: number;
  readonly children: Map<string, Flame>;
}

export interface Window {
  /** Microseconds of the monotonic clock. */
  readonly from: number;
  readonly to: number;
  /** Microseconds that the thread took in it. */
  readonly cpu: number;
}

const IDLE = '(idle)';

function flame(name: string, place: string, origin: Origin): Flame {
  return { name, place, origin, total: 0, self: 0, children: new Map() };
}

/** Name, place and origin of a frame; `root` is the folder of the checkout. */
function describe({ functionName, url, lineNumber }: CallFrame, root: string): Flame {
  if (functionName === '(garbage collector)') return flame('garbage collector', '', 'collector');
  if (functionName === '(program)') return flame('V8 and libuv', '', 'Node');
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  const name = functionName === '' ? 'module or closure' : functionName;
  const [, packed] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  if (packed !== undefined) return flame(name, packed, 'packages');
  if (!file.startsWith(`${root}/`)) return flame(name, file === '' ? 'built in' : file, 'Node');
  const inside = file.slice(root.length + 1);
  const place = `${inside}:${lineNumber + 1}`;
  if (inside.startsWith('kernel/')) return flame(name, place, 'kernel');
  return flame(name, place, inside.startsWith('plugin-api/') ? 'plugin-api' : 'plugins');
}

/**
 * Counts the samples of a window, and shares out its CPU time by them: a thread without a processor is not sampled, so that time alone would tell
 * of the neighbours. Waiting is left out. The first level is on whose behalf it was.
 */
export function flameOf(profile: CpuProfile, root: string, { from, to, cpu }: Window): Flame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const described = new Map(profile.nodes.map(({ id, callFrame }) => [id, describe(callFrame, root)]));
  const all = flame('all', '', 'Node');
  let at = profile.startTime;
  for (const [index, sample] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0;
    if (at < from || at > to || nodes.get(sample)?.callFrame.functionName === IDLE) continue;
    const path: Flame[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) path.unshift(described.get(id)!);
    add(all, onBehalf(path.slice(1)));
  }
  scale(all, cpu / Math.max(1, all.total));
  return all;
}

function scale(one: Flame, by: number): void {
  one.total *= by;
  one.self *= by;
  for (const child of one.children.values()) scale(child, by);
}

/** Behind the first plugin of a path, or else the kernel, a package: what calls them says nothing about who wants it. */
function onBehalf(path: readonly Flame[]): readonly Flame[] {
  for (const wanted of ['plugins', 'kernel', 'plugin-api', 'packages'] as const) {
    const first = path.findIndex(({ origin }) => origin === wanted);
    if (first < 0) continue;
    const rest = path.slice(first);
    return [ownerOf(rest[0]!), ...shortened(rest)];
  }
  return path.length === 0 ? [] : [ownerOf(path[0]!), ...shortened(path)];
}

function ownerOf({ name, place, origin }: Flame): Flame {
  const plugin = /^plugins\/[^/]+\/([^/]+)\//.exec(place)?.[1];
  if (plugin !== undefined) return flame(plugin, 'plugin', origin);
  if (origin === 'collector') return flame(name, '', origin);
  return flame(origin === 'packages' ? place : origin, '', origin);
}

const foreign = ({ origin }: Flame): boolean => origin === 'Node' || origin === 'packages';

/** What Node and packages call in themselves is one box, or it would hide the rest. */
function shortened(path: readonly Flame[]): readonly Flame[] {
  return path.filter((frame, index) => {
    const above = path[index - 1];
    if (!above || !foreign(frame) || above.origin !== frame.origin) return true;
    return frame.origin === 'packages' && above.place !== frame.place;
  });
}

function add(all: Flame, path: readonly Flame[]): void {
  let at = all;
  at.total += 1;
  for (const { name, place, origin } of path) {
    const key = `${name} ${place} ${origin}`;
    const next = at.children.get(key) ?? flame(name, place, origin);
    at.children.set(key, next);
    next.total += 1;
    at = next;
  }
  at.self += 1;
}

/** Microseconds by origin: the time in which it ran itself. */
export function shares(all: Flame): Readonly<Record<Origin, number>> {
  const found = Object.fromEntries(ORIGINS.map((origin) => [origin, 0])) as Record<Origin, number>;
  const walk = (one: Flame): void => {
    found[one.origin] += one.self;
    for (const child of one.children.values()) walk(child);
  };
  walk(all);
  return found;
}

const WIDTH = 1180;
const LINE = 18;
const MARGIN = 10;
const HEAD = 74;
/** Narrower boxes are left out: nobody could read them. */
const NARROWEST = 2;
const DEEPEST = 16;
const LETTER = 6.3;

const STYLE = `text { fill: #1b2430 } .back { fill: #fff } rect { stroke: #fff; stroke-width: .5 }
.kernel { fill: #9fc3ee } .plugin-api { fill: #b9b4f0 } .plugins { fill: #a5d9a8 } .packages { fill: #f2cd8d } .Node { fill: #d5dae1 } .collector { fill: #f0a9a0 }
@media (prefers-color-scheme: dark) {
text { fill: #e8edf3 } .back { fill: #11161d } rect { stroke: #11161d }
.kernel { fill: #2d5a8f } .plugin-api { fill: #514a9e } .plugins { fill: #2f6b3a } .packages { fill: #7d5a1c } .Node { fill: #424b57 } .collector { fill: #8a3c34 }
}`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const round = (value: number): string => String(Math.round(value * 10) / 10);
export const milliseconds = (us: number): string =>
  us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : `${(us / 1_000).toFixed(us >= 10_000 ? 0 : 1)} ms`;

/** `title` and `told` stand above the boxes. */
export function flameSvg(all: Flame, title: string, told: string): string {
  const boxes: string[] = [];
  const perMicrosecond = (WIDTH - 2 * MARGIN) / Math.max(1, all.total);
  let lines = 0;
  const draw = (one: Flame, x: number, depth: number): void => {
    const width = one.total * perMicrosecond;
    if (width < NARROWEST || depth > DEEPEST) return;
    lines = Math.max(lines, depth + 1);
    boxes.push(box(one, x, HEAD + depth * LINE, width, all.total));
    let left = x;
    for (const child of sorted(one)) {
      draw(child, left, depth + 1);
      left += child.total * perMicrosecond;
    }
  };
  draw(all, MARGIN, 0);
  const height = HEAD + lines * LINE + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">`,
    '<!-- Made by test/bench/flame.ts. -->',
    `<title>${escaped(title)}</title>`,
    `<style>\n${STYLE}\n</style>`,
    '<rect width="100%" height="100%" class="back"/>',
    `<text x="${MARGIN}" y="20" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    `<text x="${MARGIN}" y="38">${escaped(told)}</text>`,
    ...legend(all),
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}

/** The widest first; what is alike by name, so that the order is the same each time. */
function sorted({ children }: Flame): readonly Flame[] {
  return [...children.values()].sort(
    (a, b) => b.total - a.total || compare(a.name, b.name) || compare(a.place, b.place),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function legend(all: Flame): readonly string[] {
  const found = shares(all);
  const wide = (WIDTH - 2 * MARGIN) / ORIGINS.length;
  return ORIGINS.flatMap((origin, index) => {
    const x = MARGIN + index * wide;
    const percent = all.total === 0 ? 0 : Math.round((100 * found[origin]) / all.total);
    return [
      `<rect x="${round(x)}" y="48" width="12" height="12" class="${origin}"/>`,
      `<text x="${round(x + 17)}" y="58">${origin}, itself ${percent} %</text>`,
    ];
  });
}

function box({ name, place, origin, total }: Flame, x: number, y: number, width: number, whole: number): string {
  const percent = ((100 * total) / Math.max(1, whole)).toFixed(1);
  const tip = `${name}${place === '' ? '' : ` (${place})`}: ${milliseconds(total)}, ${percent} %`;
  const file = /([^/]+\/)?[^/]+$/.exec(place)?.[0] ?? '';
  const room = Math.floor((width - 6) / LETTER);
  const label =
    [`${name} ${file}`.trim(), name].find((text) => text.length <= room) ?? `${name.slice(0, Math.max(0, room - 1))}…`;
  const text = room < 3 ? '' : `<text x="${round(x + 3)}" y="${y + 13}">${escaped(label)}</text>`;
  return `<g><title>${escaped(tip)}</title><rect x="${round(x)}" y="${y}" width="${round(width)}" height="${LINE - 1}" rx="2" class="${origin}"/>${text}</g>`;
}
