/** The addon, and whether a model is good for it. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { Missing } from './models.ts';
import type { Shape } from './shapes.ts';
import type { Sherpa } from './sherpa.ts';

export const SHERPA = 'sherpa-onnx-node';
const PROGRAM = fileURLToPath(new URL('probe.ts', import.meta.url));
const PROBE_MS = 60_000;
const MOST_OUTPUT = 1 << 20;
/** sherpa says so, and gives an engine all the same, which ends the process when it is used. */
const COMPLAINT = /errors in config|is nullptr|does not exist|failed to/i;
/** Messages of Node and the runtime about the machine, on boards without a graphics card for example. */
const CHATTER = /ExperimentalWarning|trace-warnings|\[[WIV]:onnxruntime/;

/** An optional package with a library of 33 MB: it is opened when the first engine is made. Throws Missing. */
export function loadSherpa(name: string): Sherpa {
  try {
    return createRequire(import.meta.url)(name) as Sherpa;
  } catch (cause) {
    throw new Missing(`the npm package ${name} cannot be loaded: ${firstLine(reasonOf(cause))}`, { cause });
  }
}

/** Is it there, with its library for this machine? Without opening it. Throws Missing. */
export function sherpaThere(name: string): void {
  const { resolve } = createRequire(import.meta.url);
  try {
    const entry = resolve(name);
    // A build of the OEM's may have its library anywhere.
    if (name === SHERPA) createRequire(entry).resolve(`sherpa-onnx-${process.platform}-${process.arch}/package.json`);
  } catch (cause) {
    throw new Missing(`the npm package ${name} is not installed: ${firstLine(reasonOf(cause))}`, { cause });
  }
}

/** Makes the engine in a process of its own and lets it work. Rejects with MODEL_INVALID and what sherpa had to say, TIMEOUT, CANCELLED. */
export async function probe(name: string, path: string, shape: Shape, signal: AbortSignal): Promise<void> {
  const options = { timeout: PROBE_MS, maxBuffer: MOST_OUTPUT, signal, killSignal: 'SIGKILL' as const };
  const { error, stdout, stderr } = await new Promise<{ error: Error | null; stdout: string; stderr: string }>(
    (resolve) => {
      execFile(process.execPath, [PROGRAM, name, JSON.stringify(shape)], options, (failure, out, err) =>
        resolve({ error: failure, stdout: out, stderr: err }),
      );
    },
  );
  if (signal.aborted) throw new CoreError('CANCELLED', { what: 'a trial of a model', reason: 'it stops' });
  const lines = linesOf(stderr);
  if (stdout.includes('done') && !error && !lines.some((line) => COMPLAINT.test(line))) return;
  if (error && 'killed' in error && error.killed)
    throw new CoreError('TIMEOUT', { what: `a trial of ${path}`, ms: PROBE_MS });
  throw new CoreError('MODEL_INVALID', { path, reason: complaintOf(lines) ?? endOf(error) });
}

/** Lines of stderr that name the fault. */
function complaintOf(lines: readonly string[]): string | undefined {
  const told = lines.filter((line) => COMPLAINT.test(line) || /what\(\)|error/i.test(line));
  const reason = (told.length > 0 ? told : lines).slice(0, 2).join('; ');
  return reason === '' ? undefined : reason.slice(0, 400);
}

/** Reason for an end without output. */
function endOf(error: (Error & { readonly code?: unknown; readonly signal?: unknown }) | null): string {
  return error
    ? `its trial ended with ${error.signal ?? error.code ?? error.message}`
    : 'its trial did not come to its end';
}

function linesOf(stderr: string): readonly string[] {
  return stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !CHATTER.test(line));
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
