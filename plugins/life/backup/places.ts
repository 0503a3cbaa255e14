/** Which files are the state of a device, and which of them only somebody with the passphrase may read. */
import { type Dirent, constants as fs } from 'node:fs';
import { type FileHandle, open, opendir, readFile } from 'node:fs/promises';
import { type PluginManifest, type StateForms, stateOf } from '@device-core/plugin-api';
import { KEPT } from '@device-core/plugin-api/inside/pending-state';
import { treeManifests } from '@device-core/plugin-api/inside/tree';

/**
 * Paths that are no state: they are made again, or concern this run alone. Keys of browsers: one that was revoked since
 * must not be back.
 */
const LEFT_OUT =
  /^(log|uploads|changes|backups|outbox|browsers)(\/|$)|^apps\/[^/]+\/(cache|\.former-[^/]+)(\/|$)|^app-store\/uploads(\/|$)|\.tmp$/;
/**
 * Settings always: which of them are secrets, the schema of tomorrow says otherwise. Their journal holds them too, what
 * was said of them has hashes of them, and those of plugins lie beside the list of what was installed.
 */
const SECRET = /^(apps\/[^/]+\/)?config\.|^plugins\/(settings\.json|installed\.yaml)|(^|\/)(secrets|keys)\//;
/** Files that an app writes itself. */
const DATA = /^apps\/([^/]+)\/data$/;
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
  /** Called for each entry below the data of an app as it is found. What it throws ends the look at this app. */
  entry?(app: string, path: string): void;
  /**
   * Looks at the data of an app by `look`, when that may be; more than once where it likes. Called when all else was
   * visited, with the number of apps.
   */
  data(app: string, look: () => Promise<void>, apps: number): Promise<void>;
}

/**
 * Every file below `<var>`, open, and the data of apps after all else. Apps wrote below it, and others still write, so
 * no link is followed: folders are walked by their open handles, and what was opened is asked what it is.
 */
export async function visitState(state: string, visitor: Visitor): Promise<void> {
  const apps: string[] = [];
  const visit = async (path: string, at: string): Promise<void> => {
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
  const into = async (path: string, at: string, work: (inside: string) => Promise<void>): Promise<void> => {
    const from = await opened(at, path === '' ? FOLDER & ~fs.O_NOFOLLOW : FOLDER, path, visitor);
    if (!from) return;
    await using folder = from;
    await work(`/proc/self/fd/${folder.fd}`);
  };
  const walk = async (below: string, at: string, depth: number, owner?: string): Promise<void> => {
    if (depth > MAX_DEPTH) return visitor.left(below, `it lies more than ${MAX_DEPTH} folders deep`);
    await into(below, at, async (inside) => {
      const found = (name: string) => owner !== undefined && visitor.entry?.(owner, `${below}/${name}`);
      for (const entry of await entriesOf(inside, found)) {
        const path = below === '' ? entry.name : `${below}/${entry.name}`;
        if (refused(path) !== undefined) continue;
        const [, app] = entry.isDirectory() ? (DATA.exec(path) ?? []) : [];
        if (app !== undefined) apps.push(app);
        else if (entry.isDirectory()) await walk(path, `${inside}/${entry.name}`, depth + 1, owner);
        else if (entry.isFile()) await visit(path, `${inside}/${entry.name}`);
        else if (!entry.isSocket()) visitor.left(path, 'it is no file');
      }
    });
  };
  await walk('', state, 0);
  for (const app of apps) {
    const place = `apps/${app}`;
    const look = () =>
      into('', state, (root) =>
        into('apps', `${root}/apps`, (all) =>
          into(place, `${all}/${app}`, (own) => walk(`${place}/data`, `${own}/data`, 3, app)),
        ),
      );
    await visitor.data(app, look, apps.length);
  }
}

/** Sorted. `found` is called with each name before the next is read. */
async function entriesOf(folder: string, found: (name: string) => unknown): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    found(entry.name);
    entries.push(entry);
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const GONE: Readonly<Record<string, string>> = {
  ENOENT: 'it went meanwhile',
  ELOOP: 'it is no file',
  ENOTDIR: 'it is no folder any more',
  ENXIO: 'it is no file',
  ENODEV: 'it is no file',
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

const known = new Map<string, Readonly<Record<string, StateForms>>>();

/** The forms of all stores that the plugins of this tree keep. The tree of a running Core stays as it is: it is read once. */
export async function formsOf(tree: string): Promise<Readonly<Record<string, StateForms>>> {
  const before = known.get(tree);
  if (before) return before;
  const { parse } = await import('yaml'); // only where a backup is made or put back
  const files = [...treeManifests(tree).values()];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  // Few plugins keep a store, and parsing all manifests takes most of the CPU of a backup.
  const forms = stateOf(texts.filter((text) => /^state:/m.test(text)).map((text) => parse(text) as PluginManifest));
  known.set(tree, forms);
  return forms;
}
