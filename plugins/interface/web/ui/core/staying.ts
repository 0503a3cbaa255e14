/**
 * A browser that stays signed in. Its key can sign and cannot be read, not by this page either; it lies in IndexedDB
 * and begins sessions.
 */
import { ApiError, api } from './api.ts';
import { toBase64 } from './bytes.ts';
import { beginSession, browserName, markStaying, reason, type Session, session } from './session.ts';

interface Held {
  readonly id: string;
  readonly key: CryptoKey;
}

/** A browser in private mode may have no IndexedDB. */
const settled = [() => true, () => false] as const;
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256' };

const url64 = (bytes: ArrayBuffer): string =>
  toBase64(new Uint8Array(bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** The public half as the device takes it, and the way to keep the other one. */
async function makeKey() {
  const pair = await crypto.subtle.generateKey(ECDSA, false, ['sign', 'verify']);
  const key = url64(await crypto.subtle.exportKey('raw', pair.publicKey));
  return { key, keep: (id: string) => write({ id, key: pair.privateKey }).then(() => markStaying(id)) };
}

/** Signs in with a code. Resolves with whether this browser stays signed in. */
export async function enterAndStay(code: string): Promise<boolean> {
  const { key, keep } = await makeKey();
  const granted = await api.post<{ token: string; session: Session }>('/sessions', { code, name: browserName(), key });
  const { browser } = granted.session;
  // The code is used: whatever becomes of the key, the session is there.
  const kept = browser !== undefined && (await keep(browser).then(...settled));
  beginSession(granted);
  return kept;
}

/** From now on, in the role of this session; the Core has it confirmed. */
export async function stay(): Promise<void> {
  const { key, keep } = await makeKey();
  const { browser } = await api.post<{ browser: { id: string } }>('/sessions/browsers', { key, name: browserName() });
  await keep(browser.id);
  session.value = { ...session.value!, browser: browser.id };
}

/** Begins a session with the key. A device that does not know it any more makes this browser forget it. Rejects with ApiError. */
export async function resume(): Promise<void> {
  const held = await read();
  if (held === undefined) return forgetBrowser();
  const { id, key } = held;
  const { origin } = location;
  try {
    const { challenge } = await api.post<{ challenge: string }>('/sessions/challenges', { browser: id, origin });
    const text = new TextEncoder().encode(`device-core browser 1\n${origin}\n${id}\n${challenge}`);
    const signature = url64(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, text));
    const proof = { browser: id, origin, challenge, signature };
    beginSession(await api.post<{ token: string; session: Session }>('/sessions/proofs', proof));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'BROWSER_UNKNOWN') throw error;
    // Another tab may have got a new one meanwhile.
    if ((await read())?.id === id) await forgetBrowser();
    reason.value = 'forgotten';
  }
}

export async function forgetBrowser(): Promise<void> {
  markStaying(undefined);
  const store = await keys('readwrite');
  await done(store.clear());
}

async function read(): Promise<Held | undefined> {
  const store = await keys('readonly');
  return (await done(store.get('browser'))) as Held | undefined;
}

async function write(held: Held): Promise<void> {
  const store = await keys('readwrite');
  await done(store.put(held, 'browser'));
}

async function keys(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const open = indexedDB.open('device', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('keys');
  const database = await done(open);
  const transaction = database.transaction('keys', mode);
  // It stays open until the transaction is over.
  database.close();
  return transaction.objectStore('keys');
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
