/**
 * Runs a command where no optional part of Debian can be found (fixtures/debian.ts): `node test/runner/bare.ts COMMAND [ARGS...]`.
 *
 * The files are removed from an overlay of /usr in a mount namespace, so that the command finds what a machine has on which they were never installed.
 * The machine itself stays as it is. Where they cannot be hidden the command is not run, and this ends with code 3.
 */
import { type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { foundOf, HIDDEN } from '../fixtures/debian.ts';
import { LANES } from './lanes.ts';

const CANNOT_HIDE = 3;
/** Followed by the mount namespace outside, so that nothing is ever mounted or removed there; and by a folder for what changes. */
const INSIDE = '--inside=';
const MARK = '.device-core-bare';
/** Folders with programs and libraries; where /usr is merged the others are links into it. */
const ROOTS = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt'];

if (import.meta.main) main(process.argv.slice(2));

function main(words: readonly string[]): void {
  const outside = words[0]?.startsWith(INSIDE) ? words[0].slice(INSIDE.length) : undefined;
  const inside = outside !== undefined;
  const [command, ...args] = inside ? words.slice(2) : words;
  if (command === undefined || (!inside && command.startsWith('-'))) {
    console.error('usage: node test/runner/bare.ts COMMAND [ARGS...]');
    process.exit(2);
  }
  if (inside) {
    try {
      if (mountNamespace() === outside) throw new Error('there is no mount namespace of this command alone');
      hide(words[1]!);
    } catch (thrown) {
      refuse((thrown as Error).message);
    }
    run(command, args);
    return;
  }
  process.on('exit', told);
  const there = HIDDEN.filter((name) => foundOf(name).length > 0);
  if (there.length === 0) {
    console.log('bare: nothing optional is installed here');
    run(command, args);
    return;
  }
  if (process.geteuid?.() !== 0) refuse(`only root can, and these are installed: ${there.join(', ')}`);
  console.log(`bare: hides ${there.join(', ')}`);
  const changes = mkdtempSync(join(tmpdir(), 'bare-'));
  process.on('exit', () => rmSync(changes, { recursive: true, force: true }));
  const again = [process.execPath, import.meta.filename, `${INSIDE}${mountNamespace()}`, changes, command, ...args];
  run('unshare', ['--mount', '--propagation', 'private', '--', ...again]);
}

/** As test/run.ts does for the other lanes. */
function told(): void {
  const { minutes } = LANES.find(({ name }) => name === 'bare')!;
  const took = performance.now() / 60_000;
  console.log(`bare: ${took.toFixed(1)} of ${minutes} min`);
  if (took > minutes) console.log(`::warning::the lane bare took ${took.toFixed(1)} min, more than its ${minutes}`);
}

/** Removes what is found from overlays, and looks again. Throws with what cannot be hidden. */
function hide(changes: string): void {
  const real = [...new Set(ROOTS.flatMap((root) => realOf(root) ?? []))];
  const roots = real.filter((root) => !real.some((other) => isBelow(root, other)));
  const hidden = HIDDEN.filter((name) => foundOf(name).length > 0);
  const paths = [...new Set([...hidden.flatMap((name) => foundOf(name)), ...filesOf(hidden)])];
  must('mount', '-t', 'tmpfs', '-o', 'mode=700', 'bare', changes);
  for (const [index, root] of roots.entries()) {
    if (!paths.some((path) => isBelow(resolved(path), root))) continue;
    const [upper, work] = [join(changes, `${index}-upper`), join(changes, `${index}-work`)];
    mkdirSync(upper);
    mkdirSync(work);
    writeFileSync(join(upper, MARK), '');
    must('mount', '-t', 'overlay', '-o', `lowerdir=${root},upperdir=${upper},workdir=${work}`, 'bare', root);
  }
  const overlays = roots.filter((root) => existsSync(join(root, MARK)));
  for (const path of paths) {
    const place = resolved(path);
    // Never outside of the overlays: there it would be the machine's own file.
    if (overlays.some((root) => isBelow(place, root))) rmSync(place, { recursive: true, force: true });
  }
  const left = HIDDEN.flatMap((name) => foundOf(name));
  if (left.length > 0) throw new Error(`${left.join(', ')} can still be found`);
}

/** Files of these packages as dpkg knows them; none where there is no dpkg, or where another way brought them. */
function filesOf(packages: readonly string[]): readonly string[] {
  return packages.flatMap((name) => {
    const { status, stdout } = spawnSync('dpkg-query', ['--listfiles', name], { encoding: 'utf8' });
    if (status !== 0) return [];
    return stdout.split('\n').filter((path) => isFile(path));
  });
}

/** The path with all links of its folders followed, but not of the file itself. */
function resolved(path: string): string {
  return join(realOf(dirname(path)) ?? dirname(path), basename(path));
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isFile(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  return entry !== undefined && !entry.isDirectory();
}

function isBelow(path: string, root: string): boolean {
  return path.startsWith(`${root}/`);
}

function mountNamespace(): string {
  return readlinkSync('/proc/self/ns/mnt');
}

function must(program: string, ...args: readonly string[]): void {
  const options: SpawnSyncOptions = { encoding: 'utf8' };
  const { status, stderr, error } = spawnSync(program, args, options);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? String(stderr).trim()}`);
}

function refuse(reason: string): never {
  console.error(`bare: cannot hide the optional packages: ${reason}`);
  process.exit(CANNOT_HIDE);
}

/** Ends as the command does. */
function run(command: string, args: readonly string[]): void {
  const child = spawn(command, args, { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`bare: cannot run ${command}: ${error.message}`);
    process.exitCode = 127;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
  });
}
