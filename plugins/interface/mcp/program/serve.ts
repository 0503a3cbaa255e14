/** The protocol over standard input and output: each line is a message to `POST /mcp`, as the user who runs it. */
import { createInterface } from 'node:readline';
import { maybe } from '@device-core/plugin-api';
import { defineProgram, Failure } from '@device-core/plugin-api/program';

/** A function has a minute at most, and a person two to agree. */
const CALL_MS = 190_000;
/** Statuses of answers that are errors of JSON-RPC. */
const FAULTS = [400, 403, 404, 413, 429] as const;
const LONGEST_LINE = 256 * 1024;
const VERSION = 'io.modelcontextprotocol/protocolVersion';

interface Line {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: {
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly name?: unknown;
    readonly uri?: unknown;
  };
}

/** `devicectl mcp serve` */
export const program = defineProgram<{ readonly token?: string }>({
  params: { type: 'object', properties: {} },
  async run({ client, out, signal }) {
    const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
    signal.addEventListener('abort', () => lines.close(), { once: true });
    const running = new Set<Promise<void>>();
    for await (const line of lines) {
      if (line.trim() === '') continue;
      const one = answer(line).then((text) => (text === undefined ? undefined : out.line(text)));
      running.add(one);
      void one.finally(() => running.delete(one));
    }
    await Promise.all(running);

    async function answer(line: string): Promise<string | undefined> {
      let message: Line = {};
      try {
        if (line.length > LONGEST_LINE) throw new Error(`a message is longer than ${LONGEST_LINE} characters`);
        message = Object(JSON.parse(line)) as Line;
        const { status, text } = await client.post('/mcp', message, {
          headers: headersOf(message),
          timeoutMs: CALL_MS,
          accept: FAULTS,
        });
        return status === 202 ? undefined : text;
      } catch (error) {
        const { id = null } = message;
        const code = error instanceof Failure ? -32_603 : -32_700;
        const { message: reason } = error as Error;
        return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: reason } });
      }
    }
  },
});

function headersOf({ method, params }: Line): Record<string, string> {
  const version = params?._meta?.[VERSION];
  if (typeof version !== 'string' || typeof method !== 'string') return {};
  const subject = method === 'resources/read' ? params?.uri : method === 'tools/call' ? params?.name : undefined;
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...maybe({ 'mcp-name': typeof subject === 'string' ? subject : undefined }),
  };
}
