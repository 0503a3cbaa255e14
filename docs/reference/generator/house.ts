/** docs/architecture.svg: the rooms of the tree and who imports whom, read from the imports. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WINGS } from '@device-core/plugin-api/inside/tree';
import type { Input } from './input.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DOORS: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(ROOT, 'plugin-api/package.json'), 'utf8'),
).exports;
const WIDTH = 1180;
const LINE = 17;
/** Characters of a line in a room. */
const LETTERS = 26;
const IN_A_ROW = 6;

/** What a room is for. Files are not listed: they come and go. */
const PURPOSE: Readonly<Record<string, string>> = {
  'plugin-api': 'the door of plugin authors, and that of the test kit',
  'plugin-api/contract': 'what a plugin is: host, scope, hooks, events, errors, capabilities, manifests',
  'plugin-api/kits': 'helpers for authors: operations, buses, sound, durable files, programs, panels',
  'plugin-api/inside': 'shared by the tree, never packed: gate, sandbox, consent, packages, slots, D-Bus',
  'plugin-api/scene': 'scenes and their rules',
  'plugin-api/app': 'the kit for apps',
  'plugin-api/services': 'the contracts, a file each',
  kernel: 'lifecycle, graph, services, hooks, scopes, capabilities; start.js is the entry',
  'kernel/boot': 'before the kernel: arguments, SKU, log, instance',
  'kernel/bus': 'the Event Bus',
  'kernel/isolation': 'plugins in workers and processes',
  'kernel/testing': 'the test kit: this kernel over one plugin',
  'kernel/usage': 'who spends what',
};

interface Room {
  readonly title: string;
  readonly lines: readonly string[];
  readonly imports: readonly string[];
}

interface House {
  readonly name: string;
  readonly what: string;
  readonly rooms: readonly Room[];
}

export function housePicture(_: Input): string {
  const imports = readImports();
  return draw(
    [
      {
        name: 'plugins/',
        what: 'what the device does; a plugin imports plugin-api and its own files',
        rooms: wings(imports),
      },
      { name: 'plugin-api/', what: 'contracts and pure code, for authors', rooms: folders('plugin-api', imports) },
      { name: 'kernel/', what: 'hosts plugins, and nothing else', rooms: folders('kernel', imports) },
    ],
    imports,
  );
}

/** Room -> rooms that its files import. A room is a wing, a folder of plugin-api or of the kernel, or what stands beside these folders. */
function readImports(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of sources('{plugins,plugin-api,kernel}/**/*.ts')) {
    const from = roomOf(file);
    const rooms = found.get(from) ?? new Set();
    found.set(from, rooms);
    const text = readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|`[^`]*`/g, '');
    for (const [, name = ''] of text.matchAll(/(?:\bfrom|^import|\bimport\()\s*'([^'\\]+)'/gm)) {
      const to = targetOf(file, name);
      if (to !== undefined && to !== from) rooms.add(to);
    }
  }
  return found;
}

function targetOf(file: string, name: string): string | undefined {
  const door = /^@device-core\/plugin-api(\/.+)?$/.exec(name);
  const module = door && DOORS[`.${door[1] ?? ''}`];
  if (module) return roomOf(join('plugin-api', module));
  return name.startsWith('.') ? roomOf(join(dirname(file), name)) : undefined;
}

/** `plugins/voice/audio/index.ts` -> `plugins/voice`; `kernel/bus/x.ts` -> `kernel/bus`; `kernel/kernel.ts` -> `kernel`. */
function roomOf(path: string): string {
  const [house = '', room = ''] = path.split('/');
  const known = room !== '' && !room.endsWith('.ts') && sources(`${house}/${room}/**/*.ts`).length > 0;
  return known ? `${house}/${room}` : house;
}

const listed = new Map<string, readonly string[]>();

function sources(pattern: string): readonly string[] {
  let files = listed.get(pattern);
  if (!files) {
    files = globSync(pattern, { cwd: ROOT })
      .filter((file) => !/node_modules|\/(dist|build|templates)\/|\.test\.ts$/.test(file))
      .sort();
    listed.set(pattern, files);
  }
  return files;
}

function wings(imports: ReadonlyMap<string, ReadonlySet<string>>): readonly Room[] {
  return WINGS.flatMap((wing) => {
    const ids = new Set(sources(`plugins/${wing}/*/*.ts`).map((file) => file.split('/')[2]!));
    return ids.size === 0 ? [] : [room(`plugins/${wing}`, [...ids], imports)];
  });
}

function folders(house: string, imports: ReadonlyMap<string, ReadonlySet<string>>): readonly Room[] {
  const inner = new Set(sources(`${house}/*/**/*.ts`).map((file) => file.split('/')[1]!));
  return [
    room(house, wrap(PURPOSE[house]), imports),
    ...[...inner].map((name) => room(`${house}/${name}`, wrap(PURPOSE[`${house}/${name}`]), imports)),
  ];
}

function room(path: string, lines: readonly string[], imports: ReadonlyMap<string, ReadonlySet<string>>): Room {
  const house = path.split('/')[0]!;
  // What every room may import is said by the arrows between the houses.
  const inside = [...(imports.get(path) ?? [])].filter((one) => one.split('/')[0] === house).sort();
  const short = (one: string) => (one === house ? `${house}/*.ts` : one.slice(house.length + 1));
  const title = path === house ? `${house}/*.ts` : path.slice(house.length + 1);
  return { title, lines, imports: inside.map(short) };
}

function wrap(words = ''): readonly string[] {
  const lines = [''];
  for (const word of words.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= LETTERS) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}

function draw(houses: readonly House[], imports: ReadonlyMap<string, ReadonlySet<string>>): string {
  const parts: string[] = [];
  const places = new Map<string, { readonly top: number; readonly bottom: number }>();
  let top = 20;
  for (const { name, what, rooms } of houses) {
    const begin = top;
    const inside: string[] = [];
    top += 38;
    for (let row = 0; row < rooms.length; row += IN_A_ROW) {
      const these = rooms.slice(row, row + IN_A_ROW);
      const height = 14 + LINE * Math.max(...these.map(({ lines, imports: to }) => 1.5 + lines.length + to.length));
      const width = (WIDTH - 34) / Math.min(IN_A_ROW, rooms.length);
      for (const [at, one] of these.entries()) inside.push(...drawRoom(one, 22 + at * width, top, width - 8, height));
      top += height + 10;
    }
    parts.push(`<rect x="10" y="${begin}" width="${WIDTH - 20}" height="${top - begin}" rx="8" class="house"/>`);
    parts.push(`<text x="24" y="${begin + 24}" class="name">${name}</text>`);
    parts.push(`<text x="140" y="${begin + 24}" class="what">${what}</text>`, ...inside);
    places.set(name.slice(0, -1), { top: begin, bottom: top });
    top += 70;
  }
  const arrows = arrowsOf(imports).map(({ from, to, doors }, at) => {
    const [a, b] = [places.get(from)!, places.get(to)!];
    const down = a.top < b.top;
    const x = 180 + at * 330;
    const [y1, y2] = down ? [a.bottom, b.top] : [a.top, b.bottom];
    const label = `${from} imports ${to}${doors === undefined ? '' : `: ${doors} alone`}`;
    return `<line x1="${x}" y1="${y1}" x2="${x}" y2="${y2 + (down ? -6 : 6)}" class="arrow"/><text x="${x + 10}" y="${(y1 + y2) / 2 + 4}" class="what">${label}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top - 50}" font-family="sans-serif" font-size="12">
<!-- Generated by docs/reference/generate.ts; run "npm run docs" after a change. -->
<title>The rooms of Device Core and who imports whom</title>
<style>
.back { fill: #fff } .house { fill: #eef2f7; stroke: #5b6b7f } .room { fill: #fff; stroke: #b5c0cd }
.name { font-size: 16px; font-weight: bold } .title { font-weight: bold } .what { fill: #44505e } .to { fill: #a3441c }
.arrow { stroke: #a3441c; stroke-width: 2; marker-end: url(#end) }
</style>
<defs><marker id="end" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0 8 4 0 8z" fill="#a3441c"/></marker></defs>
<rect width="100%" height="100%" class="back"/>
${[...parts, ...arrows].join('\n')}
</svg>
`;
}

function drawRoom(
  { title, lines, imports }: Room,
  x: number,
  y: number,
  width: number,
  height: number,
): readonly string[] {
  const text = (line: string, at: number, kind: string) =>
    `<text x="${round(x + 8)}" y="${y + 20 + at * LINE}" class="${kind}">${line}</text>`;
  return [
    `<rect x="${round(x)}" y="${y}" width="${round(width)}" height="${height}" rx="4" class="room"/>`,
    text(title, 0, 'title'),
    ...lines.map((line, at) => text(line, at + 1, 'what')),
    ...imports.map((to, at) => text(`imports ${to}`, lines.length + 1.5 + at, 'to')),
  ];
}

/** Between houses: who imports whom, and through which rooms where that is not all of the house. */
function arrowsOf(imports: ReadonlyMap<string, ReadonlySet<string>>) {
  const found = new Map<string, Set<string>>();
  for (const [from, rooms] of imports)
    for (const to of rooms) {
      const key = `${from.split('/')[0]} ${to.split('/')[0]}`;
      if (from.split('/')[0] !== to.split('/')[0]) found.set(key, (found.get(key) ?? new Set()).add(to));
    }
  return [...found].sort().map(([key, rooms]) => {
    const [from = '', to = ''] = key.split(' ');
    return { from, to, doors: to === 'plugin-api' ? undefined : [...rooms].sort().join(', ') };
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
