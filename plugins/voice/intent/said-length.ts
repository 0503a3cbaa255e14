import type { IntentRun } from '@device-core/plugin-api/services/intents';

/** Seconds of a length that was said; 0 where none was. */
export function secondsOf(slots: IntentRun['slots']): number {
  const part = (name: string, seconds: number) => Number(slots[name] ?? 0) * seconds;
  return part('hours', 3_600) + part('minutes', 60) + part('seconds', 1) + part('length', 1) + part('half', 1);
}
