/** Questions to the person at the terminal. */

/** Standard input and output are a person. */
export const isAnswerable = (out: { readonly terminal: boolean; readonly json: boolean }): boolean =>
  out.terminal && !out.json && process.stdin.isTTY === true;

/** Resolves with whether the person said yes; anything but `y` and `yes` is a no. Rejects when the signal is aborted. */
export async function saysYes(question: string, signal: AbortSignal): Promise<boolean> {
  const { stdin, stdout } = process;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const more = (chunk: Uint8Array | string) => {
    typed += chunk.toString();
    if (typed.includes('\n')) resolve(typed);
  };
  const end = () => resolve(typed);
  const over = () => reject(signal.reason);
  signal.addEventListener('abort', over, { once: true });
  if (signal.aborted) over();
  stdout.write(`${question} [y/N] `);
  stdin.on('data', more).on('end', end);
  try {
    const [line = ''] = (await promise).split('\n');
    return /^y(es)?$/i.test(line.trim());
  } finally {
    signal.removeEventListener('abort', over);
    stdin.off('data', more).off('end', end).pause();
  }
}
