/** `<etc>/locks.yaml`: keys that the OEM keeps at their default. `{ locked: ['network.**', 'display.brightness'] }` */
import { CoreError } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/package-later';

/** Most devices lock nothing. */
const yaml = packageLater<typeof import('yaml')>('yaml', import.meta.url);

export const LOCKS_FILE = 'locks.yaml';

const PATTERN = /^(\*|[A-Za-z0-9][A-Za-z0-9_-]*)(\.(\*|[A-Za-z0-9][A-Za-z0-9_-]*))*(\.\*\*)?$|^\*\*$/;

export interface Locks {
  /** The pattern that locks the key, if any. */
  find(key: string): string | undefined;
}

export const NO_LOCKS: Locks = { find: () => undefined };

/** `*` is one segment, a trailing `**` one or more. Throws STATE_CORRUPT. */
export function parseLocks(text: string, file: string): Locks {
  const fail = (reason: string): never => {
    throw new CoreError('STATE_CORRUPT', { file, reason });
  };
  let content: unknown;
  try {
    content = yaml().parse(text, { prettyErrors: false });
  } catch (error) {
    const line = text.slice(0, (error as { pos?: [number] }).pos?.[0] ?? 0).split('\n').length;
    throw new CoreError(
      'STATE_CORRUPT',
      { file, reason: `line ${line}: ${(error as Error).message}` },
      { cause: error },
    );
  }
  const patterns = (content as { locked?: unknown } | null)?.locked ?? [];
  if (!Array.isArray(patterns)) fail('it must hold `locked`, a list of key patterns');
  const compiled = (patterns as unknown[]).map((pattern) => {
    if (typeof pattern !== 'string' || !PATTERN.test(pattern)) fail(`"${String(pattern)}" is not a key pattern`);
    const text = pattern as string;
    const source = text
      .split('.')
      .map((segment) => (segment === '**' ? '.+' : segment === '*' ? '[^.]+' : segment))
      .join('\\.');
    return { text, expression: new RegExp(`^${source}$`) };
  });
  return { find: (key) => compiled.find(({ expression }) => expression.test(key))?.text };
}
