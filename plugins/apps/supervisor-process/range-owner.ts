import { execFile } from 'node:child_process';
import { chmod, lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { isInSpan, MAPPERS_PATH, overUsers, type UserRange } from '@device-core/plugin-api/inside/user-range';
import { ignoreMissing, type Owner, refuseForeign } from './owner.ts';

/** Time for a change of owner: the supervisor of systemd gives its warden as long. */
const CHANGE_MS = 90_000;
/** Folders and files with one name change hands. Folders come last, so that a Core that was killed on the way begins again. */
const OWN_FILES = ['-xdev', '-depth', '(', '-type', 'd', '-o', '-links', '1', ')'];

/** Files of a range of users are given and taken in a namespace in which the Core is their root. */
export class RangeOwner implements Owner {
  readonly #range: UserRange;
  readonly #scope: Pick<Scope, 'within'>;

  constructor(range: UserRange, scope: Pick<Scope, 'within'>) {
    this.#range = range;
    this.#scope = scope;
  }

  async give(uid: number | undefined, ...files: readonly string[]): Promise<void> {
    if (uid === undefined) return;
    const there: string[] = [];
    for (const file of files) {
      const stat = await lstat(file).catch(ignoreMissing);
      if (stat && stat.uid !== uid) there.push(file);
    }
    if (there.length === 0) return;
    // The folder stays the Core's, which removes its files later.
    for (const folder of new Set(there.map((file) => dirname(file)))) await chmod(folder, 0o711);
    await this.#run(there[0]!, ['chown', '-h', `${uid}:${uid}`, '--', ...there]);
  }

  async giveTree(uid: number | undefined, folder: string): Promise<void> {
    const owner = (await lstat(folder)).uid;
    if (owner === uid || (uid === undefined && owner === process.geteuid?.())) return;
    if (owner !== process.geteuid?.()) await this.takeTree(folder);
    if (uid === undefined) return;
    // Inside, 0 is the Core's user.
    await this.#run(folder, [
      'find',
      folder,
      '-uid',
      '0',
      ...OWN_FILES,
      '-exec',
      'chown',
      '-h',
      `${uid}:${uid}`,
      '{}',
      '+',
    ]);
  }

  async takeTree(folder: string): Promise<void> {
    const { uid } = (await lstat(folder).catch(ignoreMissing)) ?? {};
    if (uid === undefined || uid === process.geteuid?.()) return;
    if (!isInSpan(this.#range, uid)) return refuseForeign(folder, uid);
    await this.#run(folder, ['find', folder, '-uid', `${uid}`, ...OWN_FILES, '-exec', 'chown', '-h', '0:0', '{}', '+']);
  }

  async remove(folder: string): Promise<void> {
    await this.#run(folder, ['rm', '-rf', '--one-file-system', '--', folder]);
  }

  async #run(subject: string, words: readonly string[]): Promise<void> {
    const [unshare, ...rest] = [...overUsers(this.#range.unshare, this.#range), ...words];
    await this.#scope.within(`owner of ${subject}`, CHANGE_MS, (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      execFile(unshare!, rest, { signal, cwd: '/', env: { PATH: MAPPERS_PATH, LC_ALL: 'C' } }, (error, _, stderr) => {
        const reason = stderr.trim().split('\n')[0];
        if (error) reject(new CoreError('UNAVAILABLE', { what: subject, reason: reason || reasonOf(error) }));
        else resolve();
      });
      return promise;
    });
  }
}
