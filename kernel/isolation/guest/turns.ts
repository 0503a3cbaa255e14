/** Long enough for what was put off by a turn, and for what follows from it. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
