/** Lines of the log of an app, and what the Core complains about, as they come. */
import { cell, type ProgramClient, type ProgramOutput } from '@device-core/plugin-api/program';

const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

interface Entry {
  /** Milliseconds since the Unix epoch. */
  readonly ts?: number;
  readonly level: string;
  readonly app?: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Lines at most that came before the log was followed. */
const EARLY = 100;

/** Resolves when the signal is aborted. `since`: earlier lines from this time on are shown, too (ms since the Unix epoch). */
export async function followLogs(
  client: ProgramClient,
  app: string,
  out: ProgramOutput,
  signal: AbortSignal,
  since?: number,
): Promise<void> {
  const tail = since === undefined ? 0 : EARLY;
  const own = follow(client, { app, tail }, signal, async (entry) => {
    if (since === undefined || (entry.ts ?? since) >= since) await show(out, 'app', entry);
  });
  const core = follow(client, { level: 'warn', tail: 0 }, signal, async (entry) => {
    // Complaints of the app itself stand in its own log.
    if (entry.fields?.from === undefined) await show(out, 'core', entry);
  });
  await Promise.all([own, core]);
}

async function follow(
  client: ProgramClient,
  query: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
  told: (entry: Entry) => Promise<void>,
): Promise<void> {
  for await (const { data } of client.stream('/logs/stream', { query }, signal)) await told(JSON.parse(data) as Entry);
}

async function show(out: ProgramOutput, who: string, { level, message }: Entry): Promise<void> {
  const colour = COLOURS[level as keyof typeof COLOURS];
  const text = cell(message);
  await out.line(`${out.paint('dim', who.padEnd(5))} ${colour ? out.paint(colour, text) : text}`);
}
