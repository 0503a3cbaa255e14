/** Which files of a backup are taken, whatever its form. */
import { pathProblem } from '@device-core/plugin-api/inside/packages';
import { invalid, LIMITS, type Taker } from './head.ts';

/**
 * Called for each file before its bytes. It throws BACKUP_INVALID beyond the limits, for bad paths, for a path that
 * comes twice, and for no state.
 */
export function admission(taker: Pick<Taker, 'refuse'>): (path: string, size: number) => void {
  const seen = new Set<string>();
  let bytes = 0;
  return (path, size) => {
    bytes += size;
    if (bytes > LIMITS.bytes || seen.size >= LIMITS.files) throw invalid('it is larger than a backup may be');
    // Two names that some file systems take for one would replace each other.
    const name = path.toLowerCase().normalize('NFC');
    const reason = pathProblem(path) ?? (seen.has(name) ? 'it comes twice' : taker.refuse(path));
    if (reason !== undefined) throw invalid(`${JSON.stringify(path.slice(0, 120))}: ${reason}`);
    seen.add(name);
  };
}
