/** Change notes, and what is made of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ChangeNote, type NoteKind, type PackageId, parseNote, readNotes } from '../../plugin-api/build/notes.ts';
import { ROOT } from '../../plugin-api/build/package-json.ts';
import { planRelease, withRelease } from '../../plugin-api/build/plan.ts';
import type { ApiReport } from '../../plugin-api/build/report.ts';

function note(kind: NoteKind, packages: readonly PackageId[], text = `something ${kind}`): ChangeNote {
  return { file: `.changes/${kind}.md`, kind, packages, text };
}

function api(names: readonly string[]): ApiReport {
  return { doors: new Map([['.', names]]), declarations: new Map(names.map((name) => [name, `const ${name}: 1;`])) };
}

describe('a change note', () => {
  it('is a kind, packages and a text; those of this checkout are', () => {
    const source = '---\nkind: minor\npackages: [core, plugin-api]\n---\n\nA door.\n\nIt opens.\n';
    assert.deepEqual(parseNote('.changes/a-door.md', source), {
      file: '.changes/a-door.md',
      kind: 'minor',
      packages: ['core', 'plugin-api'],
      text: 'A door.\n\nIt opens.',
    });
    assert.doesNotThrow(() => readNotes(ROOT));
  });

  const head = (kind: string, packages: string) => `---\nkind: ${kind}\npackages: ${packages}\n---\nText\n`;
  const cases: readonly (readonly [string, string, string, RegExp])[] = [
    ['without a head', 'a', 'Text\n', /does not begin with kind and packages/],
    ['of no kind', 'a', head('huge', '[core]'), /kind must be one of patch, minor, major/],
    ['of no package', 'a', head('minor', '[]'), /packages must be a list of core, plugin-api/],
    ['of an unknown package', 'a', head('minor', '[kettle]'), /packages must be a list/],
    ['with another member', 'a', head('minor', '[core]\nscope: all'), /it has a member scope/],
    ['without a text', 'a', '---\nkind: minor\npackages: [core]\n---\n\n', /it says nothing/],
    ['with a name in capitals', 'A_b', head('minor', '[core]'), /lower case words and dashes/],
  ];
  for (const [title, name, source, reason] of cases)
    it(`is refused ${title}`, () => assert.throws(() => parseNote(`.changes/${name}.md`, source), reason));
});

describe('the plan of a release', () => {
  const both = ['core', 'plugin-api'] as const;
  const cases: readonly (readonly [string, readonly ChangeNote[], readonly [string?, string?], readonly string[]])[] = [
    ['the first release has the versions that stand there', [note('major', both)], [], ['0.1.0 1.0.0']],
    ['the greatest kind counts', [note('patch', both), note('minor', both)], ['0.1.0', '1.0.0'], ['0.2.0 1.1.0']],
    ['a package without notes stays', [note('patch', ['core'])], ['0.1.0', '1.0.0'], ['0.1.1 1.0.0']],
    ['before 1.0.0 a major change makes a minor version', [note('major', both)], ['0.1.0', '1.0.0'], ['0.2.0 2.0.0']],
  ];
  for (const [title, notes, [core, plugins], [expected]] of cases)
    it(title, () => {
      const report = api(['a']);
      const packages = {
        core: { current: '0.1.0', released: core },
        'plugin-api': { current: '1.0.0', released: plugins },
      };
      const plan = planRelease({ notes, packages, report, releasedReport: plugins ? report : undefined });
      assert.equal(`${plan.core} ${plan['plugin-api']}`, expected);
    });

  it('is refused without notes, and where the notes say less than the API', () => {
    const packages = {
      core: { current: '0.1.0', released: '0.1.0' },
      'plugin-api': { current: '1.0.0', released: '1.0.0' },
    };
    const input = { packages, report: api(['b']), releasedReport: api(['a', 'b']) };
    assert.throws(() => planRelease({ ...input, notes: [] }), /there are no change notes/);
    assert.throws(
      () => planRelease({ ...input, notes: [note('minor', ['plugin-api'])] }),
      /cannot release plugin-api 1\.1\.0: its API asks for 2\.0\.0 \(removed \. a\)/,
    );
  });

  it('makes a section of the changelog, greatest changes first', () => {
    const notes = [
      note('patch', ['core'], 'A fault.'),
      note('major', ['plugin-api'], 'A door is gone.\n\nUse another.'),
    ];
    const plan = { core: '0.2.0', 'plugin-api': '2.0.0' };
    assert.equal(
      withRelease('# Changelog\n\n## 0.1.0 (2026-01-01)\n', plan, notes, '2026-02-03'),
      '# Changelog\n\n## 0.2.0, plugin-api 2.0.0 (2026-02-03)\n\n### Changed\n\n- plugin-api: A door is gone.\n\n  Use another.\n\n' +
        '### Fixed\n\n- core: A fault.\n\n## 0.1.0 (2026-01-01)\n',
    );
  });
});
