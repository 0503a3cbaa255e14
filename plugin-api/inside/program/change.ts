/** Waits for a change that an operation began, as a person would. */

import { maybe } from '../../kits/maybe.ts';
import type { ProgramAnswer, ProgramClient } from '../../kits/program/client.ts';
import { EXIT, Failure } from '../../kits/program/failure.ts';
import type { ChangeInfo } from '../services/changes.ts';
import { pause } from './pause.ts';

const LOOK_MS = 200;
/** The Core may restart its own way out for it: so long nobody need answer. */
const SILENT_MS = 60_000;

export interface Waiting {
  /** Told at each new step: `3/5 starting`. */
  readonly progress?: (text: string) => void;
  /** Told at each look while it is under way. */
  readonly looked?: (change: ChangeInfo) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * The answer itself, where it began no change; else what the change ended with: its result in the place of the answer,
 * or its error as a Failure. Waits as long as the change takes.
 */
export async function whenChanged(
  client: ProgramClient,
  answer: ProgramAnswer,
  { progress, looked, signal }: Waiting = {},
): Promise<ProgramAnswer> {
  const { change: id } = answer.body;
  if (answer.status !== 202 || typeof id !== 'string') return answer;
  let silent = 0;
  let told = '';
  for (;;) {
    signal?.throwIfAborted();
    const change = await look(client, id).catch((error) => {
      silent += LOOK_MS;
      if (!isSilence(error) || silent > SILENT_MS) throw error;
      return undefined;
    });
    if (change) {
      silent = 0;
      const { progress: far, steps, state, result } = change;
      if (state === 'done') return finished(answer, { ok: true, ...result });
      if (state === 'undone' || state === 'failed') throw failureOf(change);
      const step = steps.find((one) => one.state === 'doing' || one.state === 'undoing');
      const verb = state === 'undoing' ? 'taking it back' : (step?.summary ?? 'waiting');
      const text = `${far.done + 1}/${far.of} ${verb}${far.note === undefined ? '' : ` ${far.note}`}`;
      if (text !== told) progress?.(text);
      told = text;
      await looked?.(change);
    }
    await pause(LOOK_MS, signal);
  }
}

async function look(client: ProgramClient, id: string): Promise<ChangeInfo> {
  return (await client.get(`/changes/${encodeURIComponent(id)}`)).body as unknown as ChangeInfo;
}

/** Nobody is there, or not yet: it is restarting. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && ['UNAVAILABLE', 'UNREACHABLE', 'METHOD_NOT_FOUND'].includes((error as Failure).code);
}

function finished(answer: ProgramAnswer, body: ProgramAnswer['body']): ProgramAnswer {
  return { status: answer.status, body, text: JSON.stringify(body) };
}

function failureOf({ id, state, error }: ChangeInfo): Failure {
  const { code = 'INTERNAL', message = `change ${id} is ${state}`, details } = error ?? {};
  const body = { ok: false, error: `${code}: ${message}`, code, ...maybe({ details }), change: id };
  return new Failure(EXIT.answered, code, message, {
    hint: `see: devicectl change get ${id}`,
    body: JSON.stringify(body),
  });
}
