/** `devicectl repo sweep`: what nothing names goes, and nothing that a device may be fetching. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { program as expire } from '../../../plugins/life/maker/repo/expire.ts';
import { program as sweep } from '../../../plugins/life/maker/repo/sweep.ts';
import { runProgram } from '../../fixtures/run-program.ts';
import { runs } from '../../fixtures/runs.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import { devicectl } from '../cli/run-devicectl.ts';
import { Reader } from './reader.ts';

const DAY_S = 86_400;
const ORPHAN = 'f'.repeat(64);
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

suite('a sweep of a repository', () => {
  let empty: UpdateRepository;
  before(async () => {
    empty = await UpdateRepository.create();
  });
  after(() => empty[Symbol.asyncDispose]());

  const filesOf = ({ folder }: UpdateRepository): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const blobsOf = ({ folder }: UpdateRepository): readonly string[] =>
    existsSync(join(folder, 'blobs')) ? readdirSync(join(folder, 'blobs')).map((name) => name.replace('.zst', '')) : [];
  const age = (at: UpdateRepository, days: number): void => {
    for (const path of filesOf(at)) {
      const { mtimeMs } = statSync(path);
      utimesSync(path, mtimeMs / 1_000, mtimeMs / 1_000 - days * DAY_S);
    }
  };
  const takeBack = (at: UpdateRepository, version: string) =>
    runProgram(expire, { repository: at.folder, keys: at.keys, version, channel: 'stable' });

  test('on any journey leaves what the sets of the last days name, and of old files no other', async () => {
    const files = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { minLength: 1, maxLength: 2 });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('offer' as const), files }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('expire' as const), nth: fc.nat(5) }) },
      // A command was killed before it named what it had written.
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('orphan' as const) }) },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('sweep' as const), days: fc.constantFrom(0, 15, 15, 25, 1_000) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
        await using at = await empty.copy();
        const offered = new Map<string, readonly string[]>();
        const written = new Map<string, number>();
        let sets: { readonly names: ReadonlySet<string>; ended?: number }[] = [{ names: new Set() }];
        const next = (): void => {
          sets.at(-1)!.ended = 0;
          sets.push({ names: new Set([...offered.values()].flat()) });
        };
        for (const [nth, one] of steps.entries()) {
          if (one.kind === 'offer') {
            const version = `1.${nth}.0`;
            const files = Object.fromEntries(one.files.map((name) => [`kernel/${name}.js`, `// ${name}`]));
            const { image } = await at.offer({ version, files });
            offered.set(
              version,
              image.files.map(({ sha256 }) => sha256),
            );
            for (const { sha256 } of image.files) if (!written.has(sha256)) written.set(sha256, 0);
            next();
          } else if (one.kind === 'expire') {
            const version = [...offered.keys()][one.nth % Math.max(1, offered.size)];
            if (version === undefined) continue;
            await takeBack(at, version);
            offered.delete(version);
            next();
          } else if (one.kind === 'orphan') {
            const orphan = sha256Of(`orphan ${nth}`);
            mkdirSync(join(at.folder, 'blobs'), { recursive: true });
            writeFileSync(join(at.folder, 'blobs', `${orphan}.zst`), '');
            written.set(orphan, 0);
          } else {
            await runProgram(sweep, { repository: at.folder, days: one.days });
            sets = sets.filter(({ ended }) => ended === undefined || ended < one.days);
            const kept = new Set(sets.flatMap(({ names }) => [...names]));
            for (const [hex, days] of written) if (!kept.has(hex) && days >= one.days) written.delete(hex);
            assert.deepEqual([...blobsOf(at)].sort(), [...written.keys()].sort());
          }
          age(at, 10);
          for (const set of sets) if (set.ended !== undefined) set.ended += 10;
          for (const [hex, days] of written) written.set(hex, days + 10);
        }
        using reader = new Reader(at);
        await reader.refresh();
        for (const version of offered.keys()) {
          const path = `stable/kiosk/linux-x64-glibc/${version}`;
          assert.ok(await reader.target(`${path}/image.json.zst`));
          assert.equal(readdirSync(join(at.folder, 'targets', path)).length, 3);
        }
      }),
      { numRuns: runs(60) },
    );
  });

  test('tells the files that would go with --dry-run, keeps roots and foreign files, and needs no key', async () => {
    await using at = await empty.copy();
    await at.offer({ version: '1.0.0' });
    await at.offer({ version: '1.1.0' });
    await takeBack(at, '1.0.0');
    for (const name of [`blobs/${ORPHAN}.zst`, 'blobs/README', 'metadata/notes.txt', 'index.html'])
      writeFileSync(join(at.folder, name), 'x');
    rmSync(at.keys, { recursive: true });
    const young = await devicectl(['repo', 'sweep', at.folder]);
    assert.match(young.stdout, /^everything is named, or too young to go/);
    age(at, 100);
    const before = filesOf(at).length;
    const dry = await devicectl(['repo', 'sweep', at.folder, '--dry-run']);
    assert.match(dry.stdout, new RegExp(`blobs/${ORPHAN}.zst[^]*\\d+ files, \\d+ bytes would go`));
    assert.equal(filesOf(at).length, before);
    const done = JSON.parse((await devicectl(['repo', 'sweep', at.folder, '--json'])).stdout);
    assert.equal(done.blobs, 2);
    assert.equal(done.targets, 3);
    assert.ok(done.metadata > 3);
    for (const name of ['metadata/1.root.json', 'blobs/README', 'metadata/notes.txt', 'index.html'])
      assert.ok(existsSync(join(at.folder, name)), name);
    assert.equal(existsSync(join(at.folder, 'targets/stable/kiosk/linux-x64-glibc/1.0.0')), false);
    using reader = new Reader(at);
    await reader.refresh();
    assert.ok(await reader.target('stable/kiosk/linux-x64-glibc/1.1.0/image.json.zst'));
  });

  test('of a repository that is damaged, or is none, touches nothing', async () => {
    await using at = await empty.copy();
    await at.offer({ version: '1.0.0' });
    writeFileSync(join(at.folder, 'blobs', `${ORPHAN}.zst`), 'x');
    age(at, 100);
    const list = filesOf(at).find((path) => path.endsWith('.image.json.zst'))!;
    const good = readFileSync(list);
    for (const damage of [() => rmSync(list), () => writeFileSync(list, 'x')]) {
      damage();
      const { code, stderr } = await devicectl(['repo', 'sweep', at.folder, '--days', '0']);
      assert.equal(code, 1);
      assert.match(stderr, /^devicectl: STATE_CORRUPT: the repository in .* is damaged/);
      assert.ok(blobsOf(at).includes(ORPHAN));
    }
    writeFileSync(list, good);
    assert.equal((await devicectl(['repo', 'sweep', at.folder, '--days', '0'])).code, 0);
    assert.match((await devicectl(['repo', 'sweep', at.place])).stderr, /there is no repository/);
  });
});
