const AFTER_MS = 500;

/** Says on a terminal what is going on while the work takes longer than a moment; leaves nothing behind. */
export async function whileWaiting<T>(
  what: string | undefined,
  work: () => Promise<T>,
  to: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): Promise<T> {
  if (what === undefined || !to.isTTY) return work();
  let told = false;
  const timer = setTimeout(() => {
    told = true;
    to.write(`${what} ...`);
  }, AFTER_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    if (told) to.write('\r\u001b[K');
  }
}
