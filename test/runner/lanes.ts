/** The lanes of the suite: which files belong to which, and the minutes each may take of the 50 that a whole `.ci/run` has. */
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { closure } from './imports.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

export interface Lane {
  readonly name: string;
  /** Minutes of wall time on two cores, for what `npm test` runs of it and the rest together. */
  readonly minutes: number;
  readonly holds: string;
  readonly files: readonly string[];
  /** Files of another lane that the patterns cover, too. */
  readonly without?: readonly string[];
  /** What `npm test` runs of it. All, if absent. */
  readonly slice?: readonly string[];
  /** A file in which a test failed is run once more, alone. What passes only then is a warning, and warnings are counted. */
  readonly secondTry?: boolean;
  /** Files that try a part of themselves again: all of one again would take as long as the lane. */
  readonly triesItself?: readonly string[];
  /** A test that takes longer has hung; five minutes, if absent. */
  readonly longestMs?: number;
  /** Not a part of `npm run test:all`: it is run by its name. */
  readonly apart?: boolean;
}

/** Image builds, SKU tools and packages: each of these files costs a whole Core, a compiler or a registry of its own. */
const TOOLS = [
  'test/plugins/maker/**/*.test.ts',
  'test/plugin-api/pack*.test.ts',
  'test/plugins/cli/{app-new,plugin-check,plugin-check-levels,plugin-new}.test.ts',
  'test/architecture/reference.test.ts',
  'test/plugins/updater/repository-source.test.ts',
  'test/systemd/install.test.ts',
];
/** Whole Cores as processes. */
const CORES = [
  'test/kernel/{known-good,main}.test.ts',
  'test/plugins/cli/{devicectl,starting}.test.ts',
  'test/plugins/config/crash.test.ts',
  'test/plugins/host-uart/restart.test.ts',
  'test/plugins/supervisor-process/{contract,range}.test.ts',
  'test/plugins/web/lines.test.ts',
];
/** Decoders that hear minutes of sound. */
const ENGINES = [
  'test/plugins/tts-flite/tts-flite.test.ts',
  'test/plugins/sherpa/vad.test.ts',
  'test/plugins/soundswallower/{stt,wake}.test.ts',
  'test/plugins/stt-pocketsphinx/stt-pocketsphinx.test.ts',
];

/** Minutes of a whole `.ci/run`; what a later issue adds is named in LANES, and 70 is the ceiling. */
export const MOST_MINUTES = 50;

export const LANES: readonly Lane[] = [
  {
    name: 'bare',
    minutes: 8,
    holds: 'all that `npm test` runs, where no optional Debian package is found: `npm run test:bare` (bare.ts)',
    files: [],
    slice: [],
  },
  {
    name: 'unit',
    minutes: 7,
    holds: 'one part alone: each plugin in the kernel of the test kit, the kernel, the API, the walls',
    files: [
      'test/conformance/**/*.test.ts',
      'test/plugins/**/*.test.ts',
      'test/plugin-api/**/*.test.ts',
      'test/architecture/**/*.test.ts',
      'test/kernel/**/*.test.ts',
      'test/runner/**/*.test.ts',
      'test/fuzz/*.test.ts',
      'test/systemd/**/*.test.ts',
      'test/bench/*.test.ts',
    ],
    without: [...TOOLS, ...ENGINES, ...CORES],
    // Until no wait of these suites is by the clock of the wall: one in some thousand runs out on a busy machine.
    secondTry: true,
  },
  {
    name: 'pictures',
    minutes: 1,
    holds: 'golden pictures of the screens, in one process',
    files: ['test/pictures/*.test.ts'],
  },
  {
    name: 'engines',
    minutes: 1,
    holds: 'speech engines that hear minutes of sound',
    files: ENGINES,
    slice: [], // `soundswallower/sentences.test.ts` of the unit lane hears three utterances
    secondTry: true,
  },
  {
    name: 'tools',
    minutes: 3,
    holds: 'images, SKUs and packages, as developers and OEMs make them',
    files: TOOLS,
    slice: ['test/architecture/reference.test.ts', 'test/plugins/maker/{image-deb,image-folder,keys,maker}.test.ts'],
    secondTry: true,
  },
  {
    name: 'levels',
    minutes: 14,
    holds: 'the plugin suites in workers and processes, and whole Cores',
    files: ['test/isolation/**/*.test.ts', 'test/e2e/**/*.test.ts', ...CORES],
    slice: [
      'test/e2e/examples.test.ts',
      'test/e2e/variants.test.ts',
      'test/isolation/border.test.ts',
      'test/isolation/levels.test.ts',
      'test/kernel/main.test.ts',
    ],
    secondTry: true,
    triesItself: ['test/isolation/levels.test.ts'],
  },
  {
    name: 'containers',
    minutes: 5,
    holds: 'a Core beside other services, in containers',
    files: ['test/containers/**/*.test.ts'],
    slice: [],
    // A journal on a busy machine now and then loses whose line it was.
    secondTry: true,
  },
  {
    name: 'browser',
    minutes: 4,
    holds: 'pages in a browser',
    files: ['test/browser/**/*.test.ts'],
    slice: [],
    secondTry: true,
  },
  {
    name: 'soak',
    minutes: 6,
    holds: 'each random test with its full count, and what runs long (DEVICE_SOAK=1 for the whole soak of a device)',
    files: ['test/soak/**/*.test.ts'],
    slice: [],
    longestMs: 1_800_000,
  },
  { name: 'reserve', minutes: 1, holds: 'nothing: time for a slow machine', files: [], slice: [] },
  {
    name: 'lab',
    minutes: 60,
    holds: 'what needs a virtual machine',
    files: ['test/lab/**/*.test.ts'],
    slice: [],
    apart: true,
  },
  {
    name: 'mcp',
    minutes: 10,
    holds: 'what needs the conformance suite of the Model Context Protocol: `npm run test:mcp` installs it',
    files: ['test/mcp/*.test.ts'],
    slice: [],
    apart: true,
  },
];

/** So many `::warning` lines, second tries above all, does a run bear that is fit to be merged. It may only fall; 0 is the aim. */
export const MOST_WARNINGS = 4;

export type Part = 'short' | 'rest' | 'whole';

/** In the order of the patterns: what takes long begins first, so that nothing waits for it alone at the end. */
const found = (patterns: readonly string[], without: readonly string[] = []): readonly string[] => {
  const left = new Set(globSync([...without], { cwd: ROOT }));
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }).sort()).filter((file) => !left.has(file));
};

/** Whether a file has more to do when it is asked for full counts (`fixtures/runs.ts`). */
const hasFullCounts = (file: string): boolean => closure(ROOT, file).has('test/fixtures/runs.ts');

/** The test files of a lane, relative to the root: the slice of `npm test`, what that leaves for `npm run test:rest`, or all. */
export function filesOf(lane: Lane, part: Part): readonly string[] {
  const all = found(lane.files, lane.without);
  const short = lane.slice === undefined ? all : all.filter((file) => found(lane.slice!).includes(file));
  if (part === 'short') return short;
  const counted = lane.name === 'soak' ? unitFiles().filter(hasFullCounts) : [];
  if (part === 'whole') return [...all, ...counted];
  if (lane.slice === undefined) return [];
  return [...all.filter((file) => !short.includes(file) || hasFullCounts(file)), ...counted];
}

const unitFiles = (): readonly string[] => filesOf(LANES.find(({ name }) => name === 'unit')!, 'short');
