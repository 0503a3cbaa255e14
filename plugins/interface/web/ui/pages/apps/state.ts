import type { Level } from '../../parts/level.ts';
import type { AppState, AppStatus } from './shapes.ts';
import { text } from './text.ts';

type Known = Pick<AppStatus, 'state'> & Partial<Pick<AppStatus, 'complaint' | 'health' | 'leftOut' | 'denied'>>;

export function levelOf({ state, complaint, health }: Known): Level {
  if (state === 'failed' || state === 'quarantined' || health?.status === 'error') return 'error';
  if (state === 'backoff' || complaint !== undefined || health?.status === 'blocked') return 'warn';
  if (state === 'running') return 'okay';
  return state === 'stopped' ? 'quiet' : 'info';
}

export const isTroubled = (app: Known): boolean => ['warn', 'error'].includes(levelOf(app));

export const stateText = (state: AppState): string => text(state);
