/** The API report is what the sources say, and a changed one needs another version. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { API_VERSION } from '@device-core/plugin-api';
import semver from 'semver';
import { changesOf, leastVersion } from '../../plugin-api/build/compare.ts';
import { readModule } from '../../plugin-api/build/declarations.ts';
import { API_FOLDER, publicDoors, ROOT, readPackageJson } from '../../plugin-api/build/package-json.ts';
import { releasedReport } from '../../plugin-api/build/released.ts';
import {
  type ApiReport,
  makeReport,
  parseReport,
  printReport,
  REPORT_FILE,
  reportOf,
} from '../../plugin-api/build/report.ts';

const page = readFileSync(REPORT_FILE, 'utf8');
const own = readPackageJson(API_FOLDER);

/** A report of one door with these declarations. */
function report(declarations: Readonly<Record<string, string>>): ApiReport {
  const names = Object.keys(declarations);
  return { doors: new Map([['.', names]]), declarations: new Map(Object.entries(declarations)) };
}

describe('the API report', () => {
  it('is current: run npm run docs', () => {
    const made = makeReport();
    assert.ok(printReport(made) === page, 'docs/reference/plugin-api.md is not what the sources say');
    assert.deepEqual(parseReport(page), made);
  });

  it('has every door of the package and no other', () => {
    assert.deepEqual([...parseReport(page).doors.keys()], [...publicDoors(own).keys()]);
  });

  it('follows names through modules, and leaves out names that cannot be reached', () => {
    const doors = { '.': './index.ts' };
    const sources = {
      'plugin-api/index.ts':
        "import { open } from './open.ts';\nexport { open };\nexport type { Opened } from './star.ts';\n",
      'plugin-api/star.ts': "export * from './open.ts';\n",
      'plugin-api/open.ts':
        "import type { Bound as Limit } from './bound.ts';\nexport interface Opened {\n    readonly limit: Limit;\n}\n" +
        'export declare function open(name: string): Opened;\nexport declare function open(id: number): Opened;\n' +
        'export declare const hidden: number;\n',
      'plugin-api/bound.ts': "export type Bound = 'a' | 'b';\nexport type Other = 'c';\n",
    };
    const modules = new Map(Object.entries(sources).map(([file, text]) => [file, readModule(file, text, doors)]));
    const made = reportOf(modules, new Map([['.', 'index.ts']]));
    assert.deepEqual(made.doors, new Map([['.', ['Opened', 'open']]]));
    assert.deepEqual(
      [...made.declarations],
      [
        ['Bound (plugin-api/bound.ts)', "type Bound = 'a' | 'b';"],
        ['Opened', 'interface Opened {\n    readonly limit: Limit;\n}'],
        ['open', 'function open(name: string): Opened;\nfunction open(id: number): Opened;'],
      ],
    );
  });
});

describe('the version of plugin-api', () => {
  const A = 'interface A {\n    readonly a: string;\n}';
  const cases: readonly (readonly [string, ApiReport, readonly string[], string])[] = [
    ['nothing', report({ A }), [], '1.4.2'],
    ['an export', report({ A, b: 'const b: number;' }), ['minor added . b'], '1.5.0'],
    ['a member', report({ A: A.replace('}', '    readonly b?: string;\n}') }), ['minor added to A'], '1.5.0'],
    ['another type', report({ A: A.replace('string', 'number') }), ['major changed A'], '2.0.0'],
    ['no export', report({}), ['major removed . A'], '2.0.0'],
    ['no door', { doors: new Map(), declarations: new Map() }, ['major removed door .', 'major removed A'], '2.0.0'],
  ];
  for (const [title, after, expected, least] of cases)
    it(`follows from the report: ${title}`, () => {
      const changes = changesOf(report({ A }), after);
      assert.deepEqual(
        changes.map(({ kind, what }) => `${kind} ${what}`),
        expected,
      );
      assert.equal(leastVersion('1.4.2', changes), least);
    });

  it('is that of the report that was released last, or the one that its changes ask for', () => {
    assert.equal(API_VERSION, own.version);
    assert.equal(readPackageJson(ROOT).dependencies['@device-core/plugin-api'], API_VERSION);
    const base = releasedReport(ROOT);
    // Before the first release there is nothing to keep: 1.0.0 grows until it is published.
    if (!base) return assert.equal(API_VERSION, '1.0.0');
    const changes = changesOf(base.report, parseReport(page));
    const least = leastVersion(base.version, changes);
    assert.ok(semver.gte(API_VERSION, least), `${changes.map(({ what }) => what).join(', ')}: at least ${least}`);
  });

  it('would have to be a major one if an export of today were gone tomorrow', () => {
    const today = parseReport(page);
    const index = today.doors.get('.') ?? [];
    const tomorrow = { ...today, doors: new Map(today.doors).set('.', index.slice(1)) };
    assert.equal(leastVersion(API_VERSION, changesOf(today, tomorrow)), '2.0.0');
  });
});

describe('the doors', () => {
  it('are listed one by one: no wildcards, and a module behind each', () => {
    for (const [door, path] of Object.entries(own.exports)) {
      assert.match(`${door} ${path}`, /^\.[a-z/0-9-]* \.\/[a-z/0-9-]+\.ts$/);
      assert.doesNotThrow(() => readFileSync(join(API_FOLDER, path)), door);
    }
    assert.deepEqual(
      own.inside.filter((door) => !Object.hasOwn(own.exports, door)),
      [],
    );
  });

  it('export names, never all names of a module', () => {
    for (const [door, path] of Object.entries(own.exports))
      assert.doesNotMatch(readFileSync(join(API_FOLDER, path), 'utf8'), /^export \*/m, door);
  });

  it('lead to every contract of a service', () => {
    const contracts = readdirSync(join(API_FOLDER, 'services')).map((file) => `./services/${file}`);
    const doors = Object.values(own.exports).filter((path) => path.startsWith('./services/'));
    assert.deepEqual(doors.sort(), contracts.sort());
  });
});
