/** systemd reads back exactly what was meant, whatever the text. Its own parser says so: `systemd --test` shows what it made of a unit. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { type AppSpec, unitOf } from '@device-core/plugin-api/inside/app-spec';
import fc from 'fast-check';
import { without } from '../../fixtures/debian.ts';
import { runs } from '../../fixtures/runs.ts';
import { specOfGolden } from './golden.ts';
import { PATHS } from './manifests.ts';

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find((path) => existsSync(path));
const TARGET = '[Unit]\nDefaultDependencies=no\nWants=';

/** What systemd made of each unit, by name. It refuses to do so as root. */
function parsed(units: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'dc-units-'));
  try {
    chmodSync(folder, 0o755);
    for (const [name, text] of Object.entries(units))
      writeFileSync(
        join(folder, name),
        text.replace('[Unit]', '[Unit]\nDefaultDependencies=no').replace(/^(BindsTo|After)=.*\n/gm, ''),
      );
    writeFileSync(join(folder, 'all.target'), `${TARGET}${Object.keys(units).join(' ')}\n`);
    const words = [
      SYSTEMD ?? '',
      '--test',
      '--system',
      '--unit=all.target',
      '--log-target=console',
      '--log-level=warning',
    ];
    const user =
      process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--'] : [];
    const [command = '', ...args] = [...user, ...words];
    const env = { PATH: '/usr/bin:/bin', HOME: folder, SYSTEMD_UNIT_PATH: folder, SYSTEMD_COLORS: '0' };
    const { stdout } = spawnSync(command, args, {
      encoding: 'utf8',
      env,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 60_000,
    });
    const parts = stdout.split(/^\t*-> Unit /m).slice(1);
    return Object.fromEntries(parts.map((part) => [part.slice(0, part.indexOf(':')), part]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const PROBE =
  SYSTEMD === undefined
    ? ''
    : (parsed({ 'a.service': '[Unit]\n[Service]\nExecStart=/usr/bin/true "x y"\n' })['a.service'] ?? '');
const shown = PROBE.includes('Command Line: /usr/bin/true "x y"');
const skip = without('systemd') || (!shown && 'systemd --test shows no units here');

/** The words of a command as systemd shows it: quoted where a shell would need it, with escapes as C has them. */
function wordsOf(shown: string): readonly string[] {
  const found = shown.matchAll(/"((?:[^"\\]|\\[\s\S])*)"|[^" ]+/g);
  return [...found].map(([bare, quoted]) => (quoted === undefined ? bare : unescaped(quoted)));
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

function unescaped(text: string): string {
  const bytes: number[] = [];
  for (const [whole, octal, letter] of text.matchAll(/\\([0-7]{3})|\\([\s\S])|[^\\]/gu))
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(LETTERS[letter] ?? letter.charCodeAt(0));
    else bytes.push(...Buffer.from(whole));
  return Buffer.from(bytes).toString('utf8');
}

/** Words that mean something to systemd more often than chance would have them. */
const nasty = fc
  .array(
    fc.constantFrom(
      '%',
      '%n',
      '$',
      '$' + '{HOME}',
      '"',
      "'",
      '\\',
      '\n',
      '\t',
      ' ',
      ';',
      '#',
      '[Service]',
      'User=root',
      '\\x41',
      ':',
      '@',
      'a',
      'ä',
      '\u0001',
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
const name = fc
  .array(fc.constantFrom('%', '$', '"', "'", '\\', ' ', ':', ';', ',', '#', '=', '%h', 'a', 'ä', '-', '['), {
    minLength: 1,
    maxLength: 8,
  })
  .map((parts) => parts.join(''));

it('no text leaves its line or its word: arguments, variables and folders come back as they were', { skip }, () => {
  const example = fc.record({ args: fc.array(nasty, { maxLength: 4 }), value: nasty, folder: name });
  fc.assert(
    fc.property(fc.array(example, { minLength: 8, maxLength: 8 }), (examples) => {
      const base = specOfGolden('storage');
      const specs = examples.map(({ args, value, folder }, at): AppSpec => {
        const code = `/srv/store/${folder}`;
        return {
          ...base,
          name: `app-t${at}`,
          args,
          code,
          cwd: code,
          env: { GIVEN: `<${value}>` },
          files: { read: [code], write: base.files.write },
        };
      });
      const seen = parsed(Object.fromEntries(specs.map((spec) => [`${spec.name}.service`, unitOf(spec, PATHS)])));
      for (const spec of specs) {
        const text = seen[`${spec.name}.service`] ?? '';
        const { code } = spec;
        assert.ok(text.includes(`\tEnvironment: GIVEN=${spec.env.GIVEN}\n`), `${spec.env.GIVEN} in ${text}`);
        const command = /\tCommand Line: (.*)\n/.exec(text)?.[1] ?? '';
        assert.deepEqual(wordsOf(command), [spec.program, ...spec.args]);
        assert.ok(text.includes(`\tWorkingDirectory: ${code}\n`), `${code} in ${text}`);
        assert.ok(text.includes(`\tBindReadOnlyPaths: ${code}:${code}:rbind`), `${code} in ${text}`);
        assert.match(text, /\tUser: app-40001\n/);
        assert.equal(text.match(/\tCommand Line: /g)?.length, 1);
      }
    }),
    { numRuns: runs(60) },
  );
});
