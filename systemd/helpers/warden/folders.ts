import { chmodSync, chownSync, closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs';
import type { WardenConfig } from './config.ts';
import { Refused } from './refused.ts';

/** Linux's O_PATH: the place itself, not what is in it. It opens no device, and waits for no pipe. */
const PLACE = 0o10000000 | constants.O_NOFOLLOW;
/** Files of a guest that may change hands at once. */
const MOST_FILES = 100_000;

/** Opens what lies there, without going through a link in any part of the path; the caller closes it. Throws Refused for a link, ENOENT. */
export function openPlain(path: string): number {
  let fd = openSync('/', PLACE);
  for (const part of path.split('/').filter((one) => one !== '')) {
    const next = openAt(fd, part);
    closeSync(fd);
    fd = next;
    if (!fstatSync(fd).isSymbolicLink()) continue;
    closeSync(fd);
    throw new Refused(`${path} leads through a link, ${part}`);
  }
  return fd;
}

/** Sockets of a folder become this user's, 0600 as they are. Whatever else lies there stays as it is. */
export function ownSockets(folder: string, uid: number, core: number): void {
  visit(openPlain(folder), (fd) => {
    for (const name of readdirSync(self(fd)))
      visit(openAt(fd, name), (socket) => {
        if (fstatSync(socket).isSocket()) give(socket, `${folder}/${name}`, { uid, core, budget: { files: 1 } });
      });
  });
}

/** A folder and all that is in it become this user's, if the folder is not yet. */
export function ownTree(folder: string, uid: number, core: number): void {
  visit(openPlain(folder), (fd) => {
    const stat = fstatSync(fd);
    if (!stat.isDirectory()) throw new Refused(`${folder} is no folder`);
    if (stat.uid !== uid) give(fd, folder, { uid, core, budget: { files: MOST_FILES } });
  });
}

/** Folders that guests left in `remains` become the Core's, who can remove what is in them then. No file changes hands. */
export function reclaimFolders({ state, uids }: WardenConfig, core: number): void {
  const users = [[0, 0], [core, core], ...Object.values(uids)] as const;
  const take = (fd: number): void => {
    const stat = fstatSync(fd);
    if (!stat.isDirectory() || !users.some(([first, last]) => first <= stat.uid && stat.uid <= last)) return;
    chownSync(self(fd), process.getuid?.() ?? 0, 0);
    try {
      chmodSync(self(fd), 0o700);
      for (const entry of readdirSync(self(fd), { withFileTypes: true }))
        if (entry.isDirectory()) visit(openAt(fd, entry.name), take);
    } finally {
      chownSync(self(fd), core, process.getgid?.() ?? core);
    }
  };
  visit(openPlain(`${state}/remains`), take);
}

type Giving = { readonly uid: number; readonly core: number; readonly budget: { files: number } };

function give(fd: number, path: string, giving: Giving): void {
  const { uid, core, budget } = giving;
  const stat = fstatSync(fd);
  if (--budget.files < 0) throw new Refused(`${path} is one file too many; ${MOST_FILES} may change hands`);
  // Root's are folders of an attempt that was cut off.
  const known = stat.uid === core || stat.uid === uid || (stat.uid === 0 && stat.isDirectory());
  if (!known || (stat.nlink > 1 && !stat.isDirectory() && stat.uid !== uid))
    throw new Refused(`${path} is not the Core's alone`);
  if (stat.isDirectory()) {
    // Root without further rights reads only what is its own; and nobody else changes it meanwhile.
    chownSync(self(fd), process.getuid?.() ?? 0, 0);
    for (const name of readdirSync(self(fd)))
      visit(openAt(fd, name), (child) => give(child, `${path}/${name}`, giving));
  }
  chownSync(self(fd), uid, uid);
}

function visit(fd: number, use: (fd: number) => void): void {
  try {
    use(fd);
  } finally {
    closeSync(fd);
  }
}

const openAt = (fd: number, name: string) => openSync(`${self(fd)}/${name}`, PLACE);

/** What is open, by a name that leads nowhere else. */
const self = (fd: number) => `/proc/self/fd/${fd}`;
