/** Which files are the state of a device, and which of them only somebody with the passphrase may read. */
import { constants as fs } from 'node:fs';
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { type PluginManifest, type StateForms, stateOf } from '@device-core/plugin-api';
import { KEPT } from '@device-core/plugin-api/pending-state';
import { treeManifests } from '@device-core/plugin-api/tree';

/** What is no state: it is made again, or is about this run alone. Keys of browsers: one that was revoked since must not be back. */
const LEFT_OUT =
  /^(log|uploads|changes|backups|outbox|browsers)(\/|$)|^apps\/[^/]+\/(cache|\.former-[^/]+)(\/|$)|^app-store\/uploads(\/|$)|\.tmp$/;
/**
 * Settings always: which of them are secrets, the schema of tomorrow says otherwise. Their journal holds them too, what was said of them has hashes of
 * them, and those of plugins lie beside the list of what was installed.
 */
const SECRET = /^(apps\/[^/]+\/)?config\.|^plugins\/(settings\.json|installed\.yaml)|(^|\/)(secrets|keys)\//;
/** What an app writes itself. */
const DATA = /^apps\/([^/]+)\/data$/;
const MOST = 60_000;
const MAX_DEPTH = 64;
const FOLDER = fs.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW;
/** A pipe would otherwise be waited for. */
const FILE = fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK;

/** Why a path can be in no backup. */
export function refused(path: string): string | undefined {
  const [top = ''] = path.split('/');
  return KEPT.includes(top) || LEFT_OUT.test(path) ? 'it is no state of a device' : undefined;
}

/** Whether only somebody with the passphrase may read it. */
export const isSecret = (path: string): boolean => SECRET.test(path);

export interface Visitor {
  /** Whether it wants the bytes of this file. */
  wants(path: string): boolean;
  /** Gets an open file; it is closed afterwards. */
  file(path: string, from: FileHandle): Promise<void>;
  left(path: string, reason: string): void;
  /** Looks at the data of an app by `look`, when that may be. */
  data(app: string, look: () => Promise<void>): Promise<void>;
}

/**
 * Every file below `<var>`, sorted, open. Apps wrote below it, and others still write, so no link is followed: folders are walked by their open handles, and
 * what was opened is asked what it is.
 */
export async function visitState(state: string, visitor: Visitor): Promise<void> {
  let count = 0;
  const visit = async (path: string, at: string): Promise<void> => {
    count += 1;
    if (!visitor.wants(path)) return;
    const from = await opened(at, FILE, path, visitor);
    if (!from) return;
    await using file = from;
    const info = await file.stat();
    if (!info.isFile()) visitor.left(path, 'it is no file');
    // A second name may be that of a file which the app itself cannot read.
    else if (path.startsWith('apps/') && info.nlink > 1) visitor.left(path, 'it has another name, too');
    else await visitor.file(path, file);
  };
  const walk = async (below: string, at: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) return visitor.left(below, `it lies more than ${MAX_DEPTH} folders deep`);
    const from = await opened(at, below === '' ? FOLDER & ~fs.O_NOFOLLOW : FOLDER, below, visitor);
    if (!from) return;
    await using folder = from;
    const inside = `/proc/self/fd/${folder.fd}`;
    const entries = await readdir(inside, { withFileTypes: true });
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (refused(path) !== undefined || count >= MOST) continue;
      const [, app] = entry.isDirectory() ? (DATA.exec(path) ?? []) : [];
      const look = () => walk(path, `${inside}/${entry.name}`, depth + 1);
      if (app !== undefined) await visitor.data(app, look);
      else if (entry.isDirectory()) await look();
      else if (entry.isFile()) await visit(path, `${inside}/${entry.name}`);
      else if (!entry.isSocket()) visitor.left(path, 'it is no file');
    }
  };
  await walk('', state, 0);
}

const GONE: Readonly<Record<string, string>> = {
  ENOENT: 'it went meanwhile',
  ...{ ELOOP: 'it is no file', ENOTDIR: 'it is no folder any more', ENXIO: 'it is no file', ENODEV: 'it is no file' },
};

/** Undefined where it was left out, with its reason. */
async function opened(at: string, flags: number, path: string, visitor: Visitor): Promise<FileHandle | undefined> {
  try {
    return await open(at, flags);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const unreadable = code === 'EACCES' || code === 'EPERM';
    const reason = unreadable ? `it cannot be read: ${code}` : GONE[code];
    if (reason === undefined) throw error;
    visitor.left(path, reason);
    return undefined;
  }
}

/** The forms of all stores that the plugins of this tree keep. */
export async function formsOf(tree: string): Promise<Readonly<Record<string, StateForms>>> {
  const { parse } = await import('yaml'); // only where a backup is made or put back
  const files = [...treeManifests(tree).values()];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  // Few plugins keep a store, and parsing all manifests takes most of the CPU of a backup.
  return stateOf(texts.filter((text) => /^state:/m.test(text)).map((text) => parse(text) as PluginManifest));
}
