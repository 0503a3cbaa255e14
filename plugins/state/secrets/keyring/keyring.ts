/** Keys of the kernel (keyrings(7)): the few calls that a vault needs. koffi is native and comes by npm: it is imported only here. */

/** Numbers of the system calls, by the machine. */
const CALLS: Readonly<Record<string, { readonly addKey: number; readonly keyctl: number }>> = {
  x64: { addKey: 248, keyctl: 250 },
  arm64: { addKey: 217, keyctl: 219 },
};
const PROCESS_KEYRING = -2;
const USER_KEYRING = -4;
const OP = { revoke: 3, setPermissions: 5, describe: 6, link: 8, unlink: 9, read: 11 } as const;
/** Permissions: all but linking for the possessor of the key; nothing for its user, its group and others. */
const POSSESSOR_ONLY = 0x2f000000;
const USUAL_BYTES = 256;

export class KeyringError extends Error {
  readonly errno: string;

  constructor(call: string, errno: string) {
    super(`${call}: ${errno}`);
    this.errno = errno;
  }
}

export interface Keyring {
  /** Numbers of the keys by their descriptions. */
  keys(): ReadonlyMap<string, number>;
  /** A new one, or another text of the one of this description. */
  add(description: string, bytes: Uint8Array): void;
  read(key: number): Uint8Array;
  remove(key: number): void;
}

/**
 * `exit`: the keyring of this process. `reboot`: that of its user, which the process has to link to itself before it
 * may use it. Throws KeyringError.
 */
export async function openKeyring(until: 'exit' | 'reboot'): Promise<Keyring> {
  const calls = CALLS[process.arch];
  if (calls === undefined) throw new KeyringError('keyctl', `it is not known on ${process.arch}`);
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  const add = libc.func('long syscall(long number, str type, str name, void *bytes, size_t length, long ring)');
  const control = libc.func('long syscall(long number, long op, long key, long more, void *bytes, long length)');
  const names = new Map(Object.entries(koffi.os.errno).map(([name, code]) => [code, name]));
  const done = (call: string, answer: unknown): number => {
    const code = koffi.errno();
    if (Number(answer) < 0) throw new KeyringError(call, names.get(code) ?? `error ${code}`);
    return Number(answer);
  };
  const keyctl = (op: keyof typeof OP, key: number, more = 0, bytes: Buffer | null = null): number =>
    done(op, control(calls.keyctl, OP[op], key, more, bytes, bytes?.length ?? 0));
  /** Answers that go into memory of ours: keyctl takes it as the third argument. */
  const get = libc.func('long syscall(long number, long op, long key, void *bytes, long length)');
  const bytesOf = (op: 'read' | 'describe', key: number): Buffer => {
    // The kernel says how long an answer is when it gets no room. Another process may make it longer meanwhile.
    for (let room = op === 'describe' ? USUAL_BYTES : done(op, get(calls.keyctl, OP[op], key, null, 0)); ; ) {
      const bytes = Buffer.alloc(room);
      const length = done(op, get(calls.keyctl, OP[op], key, bytes, room));
      if (length <= room) return bytes.subarray(0, length);
      room = length;
    }
  };
  const ring = until === 'exit' ? PROCESS_KEYRING : USER_KEYRING;
  if (until === 'reboot') keyctl('link', USER_KEYRING, PROCESS_KEYRING);
  const keys = (): Map<string, number> => {
    const found = new Map<string, number>();
    let list: Buffer;
    try {
      list = bytesOf('read', ring);
    } catch (error) {
      if (error instanceof KeyringError && error.errno === 'ENOKEY') return found; // it begins with the first key
      throw error;
    }
    for (let at = 0; at + 4 <= list.length; at += 4) {
      const key = list.readInt32LE(at);
      try {
        // type;user;group;permissions;description
        const [type, , , , ...description] = bytesOf('describe', key).toString('utf8').replace(/\0$/, '').split(';');
        if (type === 'user') found.set(description.join(';'), key);
      } catch {
        // It was revoked, or is none of ours.
      }
    }
    return found;
  };
  keys(); // says at once what is denied
  return {
    keys,
    add(description, bytes) {
      const key = done('add_key', add(calls.addKey, 'user', description, Buffer.from(bytes), bytes.length, ring));
      keyctl('setPermissions', key, POSSESSOR_ONLY);
    },
    read: (key) => bytesOf('read', key),
    remove(key) {
      keyctl('revoke', key);
      keyctl('unlink', key, ring);
    },
  };
}
