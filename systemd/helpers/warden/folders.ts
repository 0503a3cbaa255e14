import { chmodSync, chownSync, closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs';
import { Refused, type WardenConfig } from './config.ts';

/** Linux's O_PATH: the place itself, not what is in it. It opens no device, and waits for no pipe. */
const PLACE = 0o10000000 | constants.O_NOFOLLOW;
/** Limits of one change of owner: files, and depth below the folder; each folder above is open meanwhile. */
const MOST_FILES = 100_000;
const DEEPEST = 100;
const OWN = process.getuid?.() ?? 0;

/** Opens a path without following a link in any part of it. Throws Refused for a link, ENOENT. */
export function visitPlain(path: string, use: (fd: number) => void = () => undefined): void {
  const parts = path.split('/').filter((part) => part !== '');
  const enter = (fd: number, at: number): void => {
    if (fstatSync(fd).isSymbolicLink()) throw new Refused(`${path} leads through a link, ${parts[at - 1]}`);
    if (at === parts.length) use(fd);
    else visit(openAt(fd, parts[at] ?? ''), (next) => enter(next, at + 1));
  };
  visit(openSync('/', PLACE), (fd) => enter(fd, 0));
}

/** Sockets of a folder become this user's, with their mode 0600. Other files stay the same. */
export function ownSockets(folder: string, to: number, core: number): void {
  visitPlain(folder, (fd) => {
    for (const name of readdirSync(self(fd)))
      visit(openAt(fd, name), (socket) => {
        if (fstatSync(socket).isSocket()) give(socket, `${folder}/${name}`, { to, from: [core, core], left: 1 });
      });
  });
}

/** A folder and what is in it become this user's, as far as they are the other's alone: the Core gives, or takes back at most half of what it may give. */
export function giveTree(folder: string, to: number, from: Users, core: number): void {
  visitPlain(folder, (fd) => {
    if (!fstatSync(fd).isDirectory()) throw new Refused(`${folder} is no folder`);
    give(fd, folder, { to, from, left: to === core ? MOST_FILES / 2 : MOST_FILES });
  });
}

/** Folders that guests left in `remains` become the Core's, who can remove what is in them then. No file changes hands. */
export function reclaimFolders({ state, uids }: WardenConfig, core: number): void {
  const users: readonly Users[] = [[0, 0], [core, core], ...Object.values(uids)];
  const take = (fd: number): void => {
    const stat = fstatSync(fd);
    if (!stat.isDirectory() || !users.some((range) => isOf(range, stat.uid))) return;
    chownSync(self(fd), OWN, 0);
    try {
      chmodSync(self(fd), 0o700);
      for (const entry of readdirSync(self(fd), { withFileTypes: true }))
        if (entry.isDirectory()) visit(openAt(fd, entry.name), take);
    } finally {
      chownSync(self(fd), core, process.getgid?.() ?? core);
    }
  };
  visitPlain(`${state}/remains`, take);
}

type Users = readonly [first: number, last: number];
type Giving = { readonly to: number; readonly from: Users; left: number };

/**
 * Files change owner before their folder, which is root's meanwhile: so a folder of the new owner is done, and one of root's was cut off.
 * A file that is not the giver's alone stays the same, and so does a folder that its owner has closed.
 */
function give(fd: number, path: string, giving: Giving, depth = 0): void {
  const { to, from } = giving;
  const stat = fstatSync(fd);
  const folder = stat.isDirectory();
  const whole = folder ? (stat.mode & 0o500) === 0o500 : stat.nlink === 1;
  if (stat.uid === to || !whole || !(isOf(from, stat.uid) || (folder && stat.uid === 0))) return;
  if (--giving.left < 0 || depth > DEEPEST) throw new Refused(`${path} is one file too many, or too deep`);
  if (folder) {
    // Root without further rights reads only its own folders, and no other user changes this one meanwhile.
    chownSync(self(fd), OWN, 0);
    for (const name of readdirSync(self(fd)))
      visit(openAt(fd, name), (child) => give(child, `${path}/${name}`, giving, depth + 1));
  }
  chownSync(self(fd), to, to);
}

const isOf = ([first, last]: Users, uid: number) => first <= uid && uid <= last;

function visit(fd: number, use: (fd: number) => void): void {
  try {
    use(fd);
  } finally {
    closeSync(fd);
  }
}

const openAt = (fd: number, name: string) => openSync(`${self(fd)}/${name}`, PLACE);

/** Path of an open file, which cannot lead elsewhere. */
const self = (fd: number) => `/proc/self/fd/${fd}`;
