/** `devicectl secret set NAME`. */
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { defineProgram, EXIT, Failure, type Program, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { checkName, checkScope, checkText, LONGEST_NAME, LONGEST_SCOPE, SHARED } from '../names.ts';

interface Args {
  readonly name: string;
  readonly scope: string;
}

/** More than any secret has: what is longer is refused without being read to its end. */
const MOST_BYTES = 64 << 10;
const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];
const ESCAPE = '\u001b';
const PASTED = { begin: `${ESCAPE}[200~`, end: `${ESCAPE}[201~` };

/** The text stands in no command line and in no environment, as everybody on the machine reads those. */
export const program: Program<Args> = defineProgram<Args>({
  description:
    'The text is read from standard input, without its last end of line. At a terminal it is asked for, and not shown.',
  params: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', maxLength: LONGEST_NAME },
      scope: {
        type: 'string',
        maxLength: LONGEST_SCOPE,
        default: SHARED,
        description: '`shared`, `core`, `plugin.<id>` or `app.<id>`',
      },
    },
  },
  cli: { fixed: ['name'] },
  async run({ client, out, args: { name, scope = SHARED }, signal }) {
    const refuse = (check: () => void) => {
      try {
        check();
      } catch (error) {
        throw usage(error instanceof CoreError ? reasonOf(error) : 'cannot set the secret');
      }
    };
    refuse(() => checkName(name));
    refuse(() => checkScope(scope));
    const secretText = process.stdin.isTTY ? await asked(name, out, signal) : await piped(process.stdin);
    refuse(() => checkText(secretText, scope));
    const path = `/secrets/${encodeURIComponent(scope)}/${encodeURIComponent(name)}`;
    const { body, text } = await client.put(path, { secretText });
    if (out.json) return out.line(text);
    await out.line(`secret ${name} of ${scope} is set`);
    if (typeof body.warning === 'string') await out.line(out.paint('yellow', body.warning));
  },
});

async function piped(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw usage('standard input has more than a secret may have');
    chunks.push(Buffer.from(chunk as Uint8Array));
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(Buffer.concat(chunks))
      .replace(/\r?\n$/, '');
  } catch {
    throw usage('standard input is no UTF-8');
  }
}

/** Twice, as nobody sees what is typed. */
async function asked(
  name: string,
  out: Pick<ProgramOutput, 'terminal' | 'json'>,
  signal: AbortSignal,
): Promise<string> {
  if (!out.terminal || out.json) throw usage('the secret is not asked for here', 'give it on standard input');
  const first = await hidden(`secret ${name}: `, signal);
  if (first !== (await hidden('once more: ', signal))) throw usage('the two are not the same');
  return first;
}

function hidden(question: string, signal: AbortSignal): Promise<string> {
  const { stdin, stdout } = process;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const cancelled = () => reject(new Failure(EXIT.answered, 'CANCELLED', 'nothing was done'));
  let typed = '';
  const take = (one: string): void => {
    if (one === CTRL_C || (one === CTRL_D && typed === '')) cancelled();
    else if (one === '\r' || one === '\n' || one === CTRL_D) resolve(typed);
    else typed = one === BACKSPACE || one === DELETE ? [...typed].slice(0, -1).join('') : typed + one;
  };
  const read = (chunk: string): void => {
    // An arrow, or the brackets around a pasted text: what the terminal says is no part of it.
    const text = chunk.replaceAll(PASTED.begin, '').replaceAll(PASTED.end, '');
    if (!text.startsWith(ESCAPE)) for (const one of text) take(one);
  };
  signal.addEventListener('abort', cancelled, { once: true });
  stdout.write(question);
  stdin.setEncoding('utf8').setRawMode(true).on('data', read).resume();
  return promise.finally(() => {
    signal.removeEventListener('abort', cancelled);
    stdin.off('data', read).setRawMode(false).pause();
    stdout.write('\n');
  });
}
