import { EXIT, Failure } from '@device-core/plugin-api/program';

interface ErrorBody {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The failure that an answer with `ok: false` is. The SPI endpoint has no `code`: there it stands before the colon. */
export function answered(status: number, text: string, body: unknown): Failure {
  const { error, code, details } = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const wire = typeof error === 'string' ? error : `HTTP_${status}: ${text.slice(0, 200).trim() || 'no text'}`;
  const colon = /^((?:plugin\.[a-z0-9-]+\.)?[A-Z][A-Z0-9_]*): ([\s\S]*)$/.exec(wire);
  const found = typeof code === 'string' ? code : (colon?.[1] ?? `HTTP_${status}`);
  return new Failure(EXIT.answered, found, colon?.[2] ?? wire, {
    hint: hintFor(found, details ?? {}, colon?.[2] ?? ''),
    body: text.trimEnd(),
  });
}

/** Remedy for the operator. */
function hintFor(code: string, details: Readonly<Record<string, unknown>>, text: string): string | undefined {
  const app = typeof details.app === 'string' ? details.app : '<app>';
  switch (code) {
    case 'CAPABILITY_DENIED':
      return typeof details.hint === 'string' ? `grant it with: ${details.hint}` : 'see: devicectl why';
    case 'UNAUTHENTICATED':
      return "run as the Core's user or root, or give the operator's token with --token-file";
    case 'APP_NOT_RUNNING':
      return `start it with: devicectl app start ${app}`;
    case 'APP_NOT_FOUND':
      return 'see: devicectl app list';
    case 'FUNCTION_NOT_FOUND':
      return 'see: devicectl functions';
    case 'HANDLE_NOT_FOUND':
      // The SPI endpoint answers without details: its message begins with the bus, as that of every bus does.
      return `see: devicectl ${/^\w+(?= handle )/.exec(text)?.[0].toLowerCase() ?? '<bus>'} handles`;
    case 'PLUGIN_NOT_FOUND':
    case 'METHOD_NOT_FOUND':
    case 'UNAVAILABLE':
      if (details.starting === true) return 'the device is still starting; which plugins: devicectl plugin list';
      return 'the plugin that offers it may not run; see: devicectl plugin list';
    case 'CONFIG_KEY_NOT_FOUND':
      return 'see: devicectl config list';
    case 'NOT_INITIALIZED':
      return 'the bridge link may be down; see: devicectl status';
    default:
      return undefined;
  }
}
