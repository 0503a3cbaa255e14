const MAX_LINES = 40;
const TITLE = /^ *not ok \d+ - (?<title>.*)$/m;
const MESSAGE = /^(?<indent> *)error: (?:\|-\n(?<block>(?:\k<indent> +.*\n|\n)+)|'?(?<line>.*?)'?$)/m;

/** The tests that failed, each with what it said, from the TAP of node:test; where there are none, what was printed last. */
export function testFailures(tap: string, output: string): readonly string[] {
  const parts = tap.split(/^(?= *(?:not ok|ok) \d+ - )/m).filter((part) => TITLE.test(part));
  // A suite fails because of its tests, and a file because of its suites: these say nothing new.
  const own = parts.filter((part) => !/failureType: 'subtestsFailed'|^ *error: 'test failed'$/m.test(part));
  const told = own.flatMap(describe);
  const lines = told.length > 0 ? told : output.trim().split('\n').slice(-MAX_LINES);
  return lines.length > MAX_LINES
    ? [...lines.slice(0, MAX_LINES), `... ${lines.length - MAX_LINES} lines more`]
    : lines;
}

function describe(part: string): readonly string[] {
  const { block, line = '' } = MESSAGE.exec(part)?.groups ?? {};
  const text = block === undefined ? line.replaceAll("\\'", "'") : block;
  const said = text.split('\n').filter((one) => one.trim() !== '');
  const indent = Math.min(...said.map((one) => one.length - one.trimStart().length));
  return [`not ok: ${TITLE.exec(part)?.groups?.title}`, ...said.map((one) => `  ${one.slice(indent)}`)];
}
