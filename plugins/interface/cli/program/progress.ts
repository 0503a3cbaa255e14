import { cell } from '@device-core/plugin-api/program';

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

/** Shows on a terminal how far it is, in one line that is gone at the end. */
export async function withProgress<T>(
  work: (progress: (text: string) => void) => Promise<T>,
  to: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): Promise<T> {
  let told = false;
  const progress = (text: string) => {
    if (!to.isTTY) return;
    told = true;
    to.write(`\r\u001b[K${cell(text)} ...`);
  };
  try {
    return await work(progress);
  } finally {
    if (told) to.write('\r\u001b[K');
  }
}
