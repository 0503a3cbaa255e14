/** A failed call: `code` is the string code of the Core's table of errors, `rpcCode` the JSON-RPC number. */
export class RpcError extends Error {
  readonly code: string;
  readonly rpcCode: number;
  readonly details: unknown;

  constructor(code: string, rpcCode: number, message: string, details?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.rpcCode = rpcCode;
    this.details = details;
  }

  /** From the error object of an answer. */
  static from(error: unknown): RpcError {
    const { code, message, data } = (error ?? {}) as {
      code?: number;
      message?: string;
      data?: Record<string, unknown>;
    };
    return new RpcError(String(data?.code ?? 'UNKNOWN'), code ?? 0, message ?? 'unknown error', data?.details);
  }
}

export function sessionClosed(reason: string): RpcError {
  return new RpcError('SESSION_CLOSED', -32006, `the session is closed: ${reason}`);
}
