/** The end of a program that was called wrongly: its help where that is asked for, else one line and code 2. */

/** Reads the words of the command line with `read`; prints and ends the process where they are no call of this program. */
export function readUsage<T>(program: string, help: string, words: readonly string[], read: (words: string[]) => T): T {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(help);
    process.exit(0);
  }
  try {
    return read([...words]);
  } catch (error) {
    // Node adds advice about words that begin with a dash, which names no option of this program.
    const [reason] = (error as Error).message.split(/\. To |\n/);
    process.stderr.write(`${program}: ${reason}; --help lists what there is\n`);
    process.exit(2);
  }
}
