import type { AppSupervisor, OutputStream } from '@device-core/plugin-api/inside/services/app-supervisor';

/** More than the tails of its streams. */
const LINES = 240;
const TAIL_LINES = 80;

/** The last lines that a guest wrote in a run: to stderr, or to stdout where that is silent. */
export async function lastWords(supervisor: AppSupervisor, name: string, run: string): Promise<readonly string[]> {
  const lines = await supervisor.output(name, LINES, run);
  const said = (stream: OutputStream) =>
    lines.flatMap((line) => (line.from === stream && line.text.trim() !== '' ? [line.text] : []));
  const stderr = said('stderr');
  return (stderr.length > 0 ? stderr : said('stdout')).slice(-TAIL_LINES);
}
