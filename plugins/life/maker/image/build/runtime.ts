import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Content } from '../list.ts';

/** Node without its symbols, where strip(1) is there: a seventh of it is for debuggers. */
export function runtime(node: string): Content {
  const bytes = stripped(node) ?? readFileSync(node);
  return { mode: 0o755, bytes: () => bytes };
}

function stripped(node: string): Buffer | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'device-image-'));
  try {
    const to = join(folder, 'node');
    const { status } = spawnSync('strip', ['--strip-all', '-o', to, node], { stdio: 'ignore' });
    return status === 0 ? readFileSync(to) : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
