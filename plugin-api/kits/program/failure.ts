/** Exit codes of devicectl; the same in `devicectl --help` and the guides. */
export const EXIT = { ok: 0, answered: 1, usage: 2, unreachable: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Whatever ends a command early: what is printed as `devicectl: CODE: text`, and how the process ends. */
export class Failure extends Error {
  readonly exit: ExitCode;
  readonly code: string;
  readonly hint: string | undefined;
  /** Output of `--json`: the body of the answer, or one made in its form. */
  readonly body: string;

  constructor(
    exit: ExitCode,
    code: string,
    text: string,
    more: { readonly hint?: string | undefined; readonly body?: string } = {},
  ) {
    super(text);
    this.name = 'Failure';
    this.exit = exit;
    this.code = code;
    this.hint = more.hint;
    this.body = more.body ?? JSON.stringify({ ok: false, error: `${code}: ${text}`, code });
  }
}

/** The command line is wrong. */
export function usage(text: string, hint?: string): Failure {
  return new Failure(EXIT.usage, 'USAGE', text, { hint });
}
