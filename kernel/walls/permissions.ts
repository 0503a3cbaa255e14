import { realpathSync } from 'node:fs';
import type { Reach } from './reach.ts';

/**
 * Flags of Node's permission model for a plugin process: no other file, no child process, no worker, no addon, no inspector.
 * The network and signals are not covered; walls stand around them.
 */
export function permissionFlags({ code, read, write }: Reach): readonly string[] {
  const readable = new Set([...code, ...withContents(read), ...withContents(write)].flatMap(withReal));
  const writable = new Set(withContents(write).flatMap(withReal));
  return [
    '--permission',
    ...[...readable].map((path) => `--allow-fs-read=${path}`),
    ...[...writable].map((path) => `--allow-fs-write=${path}`),
  ];
}

/** A folder that is not there yet is claimed with what it will hold. */
function withContents(claims: readonly string[]): string[] {
  return claims.flatMap((path) => (/[*/]$/.test(path) ? [path] : [path, `${path}/*`]));
}

export function withReal(path: string): string[] {
  try {
    return [path, realpathSync(path)];
  } catch {
    return [path]; // it need not be there yet
  }
}
