/**
 * Session of this tab. The token lies in sessionStorage: bound to this tab and this origin with its port, and no
 * cookie.
 */
import { signal } from '@preact/signals';

export interface Session {
  readonly id: string;
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  readonly until: number;
  /** Id of a browser that stays signed in. */
  readonly browser?: string;
}

const KEY = 'device.session';

function read(): { token: string; session: Session } | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null') ?? undefined;
  } catch {
    // Somebody else's text: as if there were none.
    return undefined;
  }
}

const kept = read();
export const token = signal<string | undefined>(kept?.token);
export const session = signal<Session | undefined>(kept?.session);
/** Why nobody is signed in. `forgotten`: the device knows the key of this browser no more. */
export const reason = signal<'new' | 'ended' | 'left' | 'forgotten'>('new');

const STAYS = 'device.browser';
/** Id of this browser, where it stays signed in; its key lies elsewhere. */
export const stays = signal<string | undefined>(localStorage.getItem(STAYS) ?? undefined);
// Another tab signed in or out.
addEventListener('storage', ({ key, newValue }) => {
  if (key === STAYS) stays.value = newValue ?? undefined;
});

export function markStaying(id: string | undefined): void {
  if (id === undefined) localStorage.removeItem(STAYS);
  else localStorage.setItem(STAYS, id);
  stays.value = id;
}

export function beginSession(granted: { readonly token: string; readonly session: Session }): void {
  sessionStorage.setItem(KEY, JSON.stringify({ token: granted.token, session: granted.session }));
  session.value = granted.session;
  token.value = granted.token;
}

export function endSession(why: 'ended' | 'left'): void {
  sessionStorage.removeItem(KEY);
  reason.value = why;
  token.value = undefined;
  session.value = undefined;
}

export const isOperator = (): boolean => session.value?.role === 'operator';

/** `Firefox on Linux`, for the list of sessions. */
export function browserName(): string {
  const agent = navigator.userAgent;
  const browser = /Firefox/.test(agent)
    ? 'Firefox'
    : /Edg\//.test(agent)
      ? 'Edge'
      : /Chrome/.test(agent)
        ? 'Chromium'
        : 'Safari';
  const system = /Android/.test(agent)
    ? 'Android'
    : /iPhone|iPad/.test(agent)
      ? 'iOS'
      : /Mac OS/.test(agent)
        ? 'macOS'
        : /Windows/.test(agent)
          ? 'Windows'
          : 'Linux';
  return `${browser} on ${system}`;
}
