/** A repository to where a web server serves it from. Whoever reads there meanwhile sees the set before or this one. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import { usage } from '@device-core/plugin-api/program';

const TIMESTAMP = join('metadata', 'timestamp.json');
const ROOT = /^metadata\/(\d+)\.root\.json$/;

/** Files that were not there, or differ. Throws a usage error for a folder inside of the other. */
export async function copyRepository(from: string, to: string): Promise<number> {
  const [source, target] = [resolve(from), resolve(to)];
  if (!relative(source, target).startsWith('..')) throw usage(`${target} lies in the repository itself`);
  const files = filesBelow(source).filter((path) => !path.startsWith('.'));
  // Roots after the timestamp, which is signed for the former one, too; the first of all before it.
  const first = files.filter((path) => ROOT.exec(path)?.[1] === '1');
  const roots = files.filter((path) => ROOT.test(path) && !first.includes(path));
  const order = (path: string) => Number(ROOT.exec(path)?.[1]);
  const rest = files.filter((path) => !ROOT.test(path) && path !== TIMESTAMP);
  let count = 0;
  for (const path of [...rest, ...first, TIMESTAMP, ...roots.sort((a, b) => order(a) - order(b))]) {
    const place = join(target, path);
    const bytes = readFileSync(join(source, path));
    if (isThere(place, bytes)) continue;
    await makeFolder(dirname(place), 0o755);
    await replaceFile(place, bytes, { mode: 0o644 });
    count += 1;
  }
  return count;
}

/** A blob never changes, so its length is enough. */
function isThere(path: string, bytes: Buffer): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.size !== bytes.length) return false;
  return path.includes('/blobs/') || readFileSync(path).equals(bytes);
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}
