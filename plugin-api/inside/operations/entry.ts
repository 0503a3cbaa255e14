import type { ServiceUser } from '../../index.ts';
import type { Operation, OperationInfo, StreamEndpoint, StreamInfo } from '../../services/operations.ts';
import type { Authorization } from './capability-template.ts';

/** One row, ready to run. */
export interface Entry {
  readonly name: string;
  readonly timeoutMs: number;
  /** Its handler keeps the deadline by itself. */
  readonly keepsDeadline: boolean;
  /** It changes nothing: a page that may only look may call it. */
  readonly reads: boolean;
  readonly authorization: Authorization;
  /** Throws PARAMS_INVALID; fills in defaults. */
  readonly checkParams: (params: unknown) => void;
  /** User of the service that added it, where known. */
  readonly user: ServiceUser | undefined;
}

export interface OperationEntry extends Entry {
  readonly info: OperationInfo;
  readonly run: Operation<unknown>['run'];
  /** Absent: no confirmation is needed. */
  readonly sensitive: Operation['sensitive'];
  /** The subject of a sensitive call. */
  readonly about: Operation<unknown>['about'];
  readonly checkResult: (result: unknown) => string | undefined;
}

export interface StreamEntry extends Entry {
  readonly info: StreamInfo;
  readonly run: StreamEndpoint['run'];
}
