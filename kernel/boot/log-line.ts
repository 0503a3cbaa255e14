/** A finished line of the log: for people, and one that is too long. Pure. */

/** Most characters of a clipped message. */
const MESSAGE = 8_192;
const NAME = 256;

/** Clips a long line; the members that identify it stay. */
export function clipped(line: string): string {
  const { level, time, plugin, app, run, code, msg, err } = JSON.parse(line);
  const text = typeof msg === 'string' ? msg : '';
  const short = (value: unknown) => (typeof value === 'string' ? value.slice(0, NAME) : undefined);
  const reason = typeof err?.message === 'string' ? err.message.slice(0, MESSAGE) : undefined;
  const about = { plugin: short(plugin), app: short(app), run: short(run), code: short(code), reason };
  const rest = text.length > MESSAGE ? `${text.slice(0, MESSAGE)}...` : text;
  return `${JSON.stringify({ level, time, ...about, clipped: line.length, msg: rest })}\n`;
}

export function readable(line: string): string {
  const { level, time, plugin, app, from, msg = '', err, run, reason: why = err?.message } = JSON.parse(line);
  if (run === 'problem') return msg;
  // The output of an app, as its log has it.
  if (from !== undefined)
    return `${new Date(time).toTimeString().slice(0, 8)} ${level >= 50 ? 'error' : 'warn'} ${app}: ${msg}`;
  const reason = why && !msg.includes(why) ? `: ${why}` : '';
  return `${level >= 50 ? 'error' : 'warning'}: ${plugin && !msg.includes(plugin) ? `${plugin}: ` : ''}${msg}${reason}`;
}
