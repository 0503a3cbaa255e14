/** Limits of a backup, its head, and the reasons for which one is refused. */
import { CoreError, type StateForms } from '@device-core/plugin-api';

/** Form of an archive: 1 is `former.ts`. */
export const FORM = 2;
export const LIMITS = { files: 50_000, bytes: 256 << 20, head: 1 << 20, secrets: 16 << 20 } as const;
/** Bytes of an upload: head, secrets and seal come on top of the files. */
export const LONGEST = LIMITS.bytes + LIMITS.secrets;

export interface BackupLimits {
  readonly files: number;
  readonly bytes: number;
  /** Limits of one app: it cannot fill a backup that the others need. */
  readonly app: { readonly entries: number; readonly bytes: number };
}
export const BACKUP_LIMITS: BackupLimits = { ...LIMITS, app: { entries: 10_000, bytes: 128 << 20 } };

export interface Head {
  readonly format: number;
  readonly sku: string;
  /** Version of the Core that made it. */
  readonly core: string;
  /** Milliseconds since the Unix epoch. */
  readonly made: number;
  /** Store -> form that the Core wrote. */
  readonly forms: Readonly<Record<string, StateForms>>;
}

export interface Line {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
}

export interface Taker {
  /** Called before anything is taken: throws where the backup is for another device. */
  head(head: Head): void;
  /** Whether this path may be taken; a reason where not. */
  refuse(path: string): string | undefined;
  /** Gets the bytes of each file, which may come in pieces. */
  take(line: Line, bytes: AsyncIterable<Buffer>): Promise<void>;
  /** Gets the secrets as they were written. */
  secrets(text: string): void;
}

export function invalid(reason: string): CoreError {
  return new CoreError('BACKUP_INVALID', { source: 'that was handed over', reason });
}

/** There is no room in a backup for what was to be added. */
export class TooMuch extends CoreError {
  constructor(reason: string) {
    super('BACKUP_INVALID', { source: 'of this device', reason });
  }
}

/** A file that cannot be read to its end, through no fault of the backup. */
export class Unreadable extends CoreError {
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('STORAGE_FAILED', { file: 'of a backup', reason }, { cause });
    this.reason = reason;
  }
}
