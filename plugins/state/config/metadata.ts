/** `config.meta.json`: author and time of each key, beside the YAML that people read and edit. */
import { createHash } from 'node:crypto';
import { newerForm } from '@device-core/plugin-api';

const FORM = 1;

export interface KeyMetadata {
  readonly revision: number;
  readonly setBy: string;
  readonly setAt: number;
  /** Hash of the described value: a value with another hash was edited by hand. */
  readonly hash: string;
}

export interface Metadata {
  /** Highest revision ever given out in this file, unset keys included. */
  readonly revision: number;
  readonly keys: ReadonlyMap<string, KeyMetadata>;
}

export const NO_METADATA: Metadata = { revision: 0, keys: new Map() };

export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}

export function formatMetadata(metadata: Metadata): string {
  const { revision, keys } = metadata;
  return `${JSON.stringify({ version: FORM, revision, keys: Object.fromEntries(keys) }, null, 1)}\n`;
}

/**
 * Damaged metadata cost their history only, never a value: undefined stands for "nothing is known". A former version
 * wrote them just before the YAML, with `undo`: the entry from before a write whose YAML may be missing. Throws
 * STATE_NEWER.
 */
export function parseMetadata(
  text: string,
  file: string,
):
  | { readonly metadata: Metadata; readonly undo?: { readonly key: string; readonly entry: KeyMetadata | null } }
  | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { version, revision, undo, keys } = (content ?? {}) as Record<string, unknown>;
  const newer = newerForm(file, version, FORM);
  if (newer) throw newer;
  if (version !== FORM || !Number.isSafeInteger(revision) || typeof keys !== 'object' || keys === null)
    return undefined;
  const entries = Object.entries(keys).filter(([, entry]) => isKeyMetadata(entry)) as [string, KeyMetadata][];
  const metadata = { revision: revision as number, keys: new Map(entries) };
  const undone = undo as { key?: unknown; entry?: unknown } | undefined;
  if (typeof undone?.key !== 'string') return { metadata };
  return { metadata, undo: { key: undone.key, entry: isKeyMetadata(undone.entry) ? undone.entry : null } };
}

export function isKeyMetadata(value: unknown): value is KeyMetadata {
  const entry = value as Partial<KeyMetadata> | null | undefined;
  return (
    Number.isSafeInteger(entry?.revision) &&
    Number.isSafeInteger(entry?.setAt) &&
    typeof entry?.setBy === 'string' &&
    typeof entry?.hash === 'string'
  );
}
