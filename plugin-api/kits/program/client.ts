/** How a program asks the Core. */
/** An answer of the Core with a status below 400, or one that the caller accepts. */
export interface ProgramAnswer {
  readonly status: number;
  /** The body as it came. */
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ProgramRequest {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** How long the Core may take, 35,000 if absent; of an upload since the last piece of the file went. */
  readonly timeoutMs?: number;
  /** Statuses of failure that are an answer all the same. */
  readonly accept?: readonly number[];
  /** More headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** REST of the Core that the command line names. All of it rejects with a Failure: that of the answer, or "cannot reach the Core". */
export interface ProgramClient {
  get(path: string, request?: ProgramRequest): Promise<ProgramAnswer>;
  post(path: string, body?: object, request?: ProgramRequest): Promise<ProgramAnswer>;
  /** Sends a file as the body, as it is. */
  upload(path: string, file: string, request?: ProgramRequest): Promise<ProgramAnswer>;
  put(path: string, body: object, request?: ProgramRequest): Promise<ProgramAnswer>;
  /** Server-sent events until the signal is aborted. */
  stream(path: string, request: ProgramRequest, signal: AbortSignal): AsyncIterable<ProgramStreamItem>;
}

export interface ProgramStreamItem {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}
