import { WALLS, type Wall, type WallsReport } from '@device-core/plugin-api/inside/services/launcher';
import type { HealthReport } from '@device-core/plugin-api/services/health';

/** Powers of a guest for each missing wall. */
const CONSEQUENCE: Readonly<Record<Wall, string>> = {
  user: 'runs as the user of the Core',
  files: 'reads every file of the Core, the tokens of others among them',
  network: 'uses the network without a grant',
  pids: 'sees every process',
  signals: 'ends the Core by a signal',
  syscalls: 'calls the system as the Core may',
};

/** `walls: none` or the walls that are missing are a warning once there are guests; the state stays the same, because everything works. */
export function wallsHealth(
  health: HealthReport,
  { by, walls, reason, users, usersReason }: WallsReport,
  guests: boolean,
): void {
  const missing = WALLS.filter((wall) => walls[wall] === 'none');
  const stands = WALLS.map((wall) => `${wall}: ${walls[wall]}`).join(', ');
  const code = missing.length === 0 ? {} : { code: missing.length === WALLS.length ? 'none' : 'partial' };
  const shared = usersReason && `apps have the user of the Core: ${usersReason}`;
  const why = [by, reason, shared].filter(Boolean).join('; ');
  health.add('walls', { status: 'okay', ...code, message: `${stands} (${why})` });
  if (missing.length === 0 || !guests) return;
  const what = missing.length === WALLS.length ? 'none' : `no ${missing.join(', ')}`;
  const may = missing.map((wall) => CONSEQUENCE[wall]).join(', ');
  const own = users ? ' unless it has a separate user' : '';
  health.warn('WALLS_MISSING', `walls: ${what}; an app or a plugin in a process ${may}${own}; install bubblewrap`);
}
