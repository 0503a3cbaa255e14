/** One case: what became of it, and what it cost. */
import { maybe } from '@device-core/plugin-api';
import { isRefusal, type Opened } from './target.ts';

export const LIMITS = { cpuMs: 1_000, mib: 200 } as const;

export interface Outcome {
  readonly problem?: string;
  readonly accepted: boolean;
  /** Reason of a refusal. */
  readonly reason?: string;
}

export interface Measured extends Outcome {
  /** Milliseconds of CPU, of all threads. */
  readonly ms: number;
  /** Above what the process held before. */
  readonly mib: number;
}

const MIB = 1 << 20;

export async function measured(opened: Opened, bytes: Buffer): Promise<Measured> {
  const [cpu, highest, held] = [process.cpuUsage(), peak(), process.memoryUsage.rss()];
  const outcome = await outcomeOf(opened, bytes);
  const { user, system } = process.cpuUsage(cpu);
  const ms = (user + system) / 1_000;
  const mib = peak() > highest ? (peak() - held) / MIB : 0;
  const beyond = ms > LIMITS.cpuMs ? `it took ${Math.round(ms)} ms of CPU, more than ${LIMITS.cpuMs}` : undefined;
  const larger = mib > LIMITS.mib ? `it took ${Math.round(mib)} MiB, more than ${LIMITS.mib}` : undefined;
  const problem = outcome.problem ?? beyond ?? larger;
  return { ...outcome, ...maybe({ problem }), ms, mib };
}

/** Bytes that the process held at most. */
const peak = (): number => process.resourceUsage().maxRSS * 1_024;

/** Without a look at what it cost. */
export async function outcomeOf(opened: Opened, bytes: Buffer): Promise<Outcome> {
  try {
    return { accepted: await opened.run(bytes) };
  } catch (error) {
    if (isRefusal(opened, error)) return { accepted: false, reason: (error as Error).message };
    return { accepted: false, problem: error instanceof Error ? `${error.stack}` : `it threw ${String(error)}` };
  }
}
