/** A finished line of the log: for people, and one that is too long. Pure. */

/** Characters of what is left of a message. */
const MESSAGE = 8_192;
const NAME = 256;

/** A line without what made it long: what it is about stays. */
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
  // What an app printed, as its log has it.
  if (from !== undefined)
    return `${new Date(time).toTimeString().slice(0, 8)} ${level >= 50 ? 'error' : 'warn'} ${app}: ${msg}`;
  const reason = why && !msg.includes(why) ? `: ${why}` : '';
  return `${level >= 50 ? 'error' : 'warning'}: ${plugin && !msg.includes(plugin) ? `${plugin}: ` : ''}${msg}${reason}`;
}
