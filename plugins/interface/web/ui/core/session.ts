/** Who is signed in in this tab. The token lies in sessionStorage: of this tab, of this origin with its port, and no cookie. */
import { signal } from '@preact/signals';

export interface Session {
  readonly id: string;
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  readonly until: number;
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
/** Why nobody is signed in. */
export const reason = signal<'new' | 'ended' | 'left'>('new');

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
