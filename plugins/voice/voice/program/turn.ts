/** How a turn is told. */

import { cell, type ProgramOutput } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';

/** A turn lasts a minute at most, and an announcement may wait for one. */
export const TURN_MS = 75_000;

export async function tell(
  out: ProgramOutput,
  { heard: words, nearest, confidence, unsure, close, engine, stage, plan, said, outcome, code }: VoiceTurn,
  indent = '',
): Promise<void> {
  const line = (name: string, text: string | undefined) =>
    text === undefined ? Promise.resolve() : out.line(`${indent}${name.padEnd(9)}${cell(text)}`);
  const slots = Object.entries(plan?.slots ?? {}).map(([name, value]) => `${name}=${value}`);
  const nothing = words === '' ? 'nothing that is known' : undefined;
  await line('heard', nothing ?? (words && `${words}${engine ? `  (${engine}, ${stage})` : ''}`));
  const sure = confidence === undefined ? undefined : `${Math.round(100 * confidence)} %`;
  await line('nearest', nearest);
  await line('sure', sure && (unsure ? `${sure}, least of "${unsure}"` : sure));
  await line('close', close);
  await line('plan', plan && [plan.intent, ...slots].join(' '));
  await line('said', said);
  await line('outcome', code ? `${outcome}, ${code}` : outcome);
}
