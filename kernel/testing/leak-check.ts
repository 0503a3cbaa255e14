/** Kinds that come and go by themselves, or belong to the test runner. */
const PASSING = /^(TTYWrap|FSReq|CloseReq|TickObject|Immediate|GetAddrInfo|ShutdownWrap|WriteWrap)/;

/**
 * Counts what keeps the process busy now, and returns the check that it is no more at the end of a suite:
 * `after(leakCheck())` at the top of the file. Timers, sockets, servers, pipes, child processes, workers and watchers
 * count. Waits up to `graceMs` for those that are closing.
 */
export function leakCheck(graceMs = 2_000): () => Promise<void> {
  const before = count();
  return async () => {
    const deadline = Date.now() + graceMs;
    let left = leaked(before);
    while (left.length > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      left = leaked(before);
    }
    if (left.length > 0) throw new Error(`the suite leaves behind ${left.join(', ')}`);
  };
}

function leaked(before: ReadonlyMap<string, number>): string[] {
  return [...count()]
    .filter(([kind, now]) => now > (before.get(kind) ?? 0))
    .map(([kind, now]) => `${now - (before.get(kind) ?? 0)} ${kind}`);
}

function count(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!PASSING.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
