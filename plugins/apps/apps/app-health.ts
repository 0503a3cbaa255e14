import { maybe } from '@device-core/plugin-api';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { ComponentHealth, ComponentStatus } from '@device-core/plugin-api/services/health';
import type { App } from './app.ts';

const REPORT_MS = 30_000;
const STATUSES: readonly string[] = ['okay', 'waiting', 'blocked', 'error'] satisfies readonly ComponentStatus[];

/** An app as a component of /health. A manifest that cannot be used is told until it is mended, although the app runs on. */
export function healthOf(app: App): ComponentHealth {
  const health = ownHealth(app);
  const { complaint } = app;
  if (!complaint) return health;
  const message = [`${complaint.message}; the last good one is in force`, health.message].filter(Boolean).join('; ');
  return { ...health, status: 'error', code: complaint.code, message };
}

function ownHealth(app: App): ComponentHealth {
  const status = app.status();
  const rest = { version: status.version, since: status.since };
  // Everybody with an identity reads /health: no word of what the app wrote.
  const message = app.reason === undefined ? {} : { message: app.reason };
  switch (status.state) {
    case 'stopped':
      return { status: 'okay', ...rest, message: app.reason ?? 'it is stopped' };
    case 'starting':
    case 'stopping':
    case 'backoff':
      return { status: 'waiting', code: status.state, ...rest, ...message };
    case 'quarantined':
      return { status: 'blocked', code: status.state, ...rest, ...message };
    case 'failed':
      return { status: 'error', code: status.state, ...rest, ...message };
    case 'running':
      return { ...ownWord(app, status), ...rest };
  }
}

function ownWord(app: App, status: AppStatus): ComponentHealth {
  const { health } = app.manifest;
  if (health?.kind === 'report') {
    const limit = health.intervalMs ?? REPORT_MS;
    const quiet = Math.round(app.heard.quietMs);
    if (quiet > limit)
      return {
        status: 'error',
        code: 'silent',
        message: `it has not reported for ${quiet} ms; ${limit} ms are agreed`,
      };
  }
  if (app.sessions.unanswered > 0)
    return {
      status: 'error',
      code: 'no-answer',
      message: `it has not answered ${app.sessions.unanswered} pings in a row`,
    };
  if (health?.kind !== 'none' && !app.sessions.any)
    return { status: 'waiting', code: 'no-session', message: 'its socket is not connected' };
  const word = STATUSES.find((known) => known === status.health?.status) as ComponentStatus | undefined;
  const message = status.health?.message;
  return { status: word ?? 'okay', ...maybe({ message }) };
}
