/** The addon, and whether a model is good for it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { Sherpa } from 'sherpa-onnx-node';
import { Missing } from './models.ts';
import type { Shape } from './shapes.ts';

const PROGRAM = fileURLToPath(new URL('probe.ts', import.meta.url));
const PROBE_MS = 60_000;
const MOST_OUTPUT = 1 << 20;
/** sherpa says so, and gives an engine all the same, which ends the process when it is used. */
const COMPLAINT = /errors in config|is nullptr|does not exist|failed to/i;

/** An optional package of 33 MB: it is imported when the first engine is made. Rejects with Missing. */
export async function loadSherpa(): Promise<Sherpa> {
  try {
    return (await import('sherpa-onnx-node')).default;
  } catch (cause) {
    throw new Missing(`the npm package sherpa-onnx-node cannot be loaded: ${firstLine(reasonOf(cause))}`, { cause });
  }
}

/** Makes the engine in a process of its own and lets it work. Rejects with MODEL_INVALID and what sherpa had to say. */
export async function probe(path: string, shape: Shape, signal: AbortSignal): Promise<void> {
  const options = { timeout: PROBE_MS, maxBuffer: MOST_OUTPUT, signal, killSignal: 'SIGKILL' as const };
  const { error, stdout, stderr } = await new Promise<{ error: Error | null; stdout: string; stderr: string }>(
    (resolve) => {
      execFile(process.execPath, [PROGRAM, JSON.stringify(shape)], options, (failure, out, err) =>
        resolve({ error: failure, stdout: out, stderr: err }),
      );
    },
  );
  if (signal.aborted) throw new CoreError('CANCELLED', { what: 'a trial of a model', reason: 'it stops' });
  if (stdout.includes('done') && !error && !COMPLAINT.test(stderr)) return;
  throw new CoreError('MODEL_INVALID', { path, reason: complaintOf(stderr) ?? reasonOf(error) });
}

/** Of pages of stderr the lines that say what is wrong. */
function complaintOf(stderr: string): string | undefined {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/ExperimentalWarning|trace-warnings/.test(line));
  const told = lines.filter((line) => COMPLAINT.test(line) || /what\(\)|error/i.test(line));
  const reason = (told.length > 0 ? told : lines).slice(0, 2).join('; ');
  return reason === '' ? undefined : reason.slice(0, 400);
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
