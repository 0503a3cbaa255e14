#!/usr/bin/env node
/** plugin-check [folder] [--json]: the program behind `devicectl plugin check` and the script `check` of a plugin's package.json. */
import { parseArgs } from 'node:util';
import { checkPlugin } from './check.ts';
import { placeOf } from './place.ts';
import { type CheckRow, tableLine } from './report.ts';

const EXIT = { passed: 0, failed: 1, usage: 2 } as const;

/** Prints rows as they come, or all of them as one JSON document at the end; resolves with the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { json: { type: 'boolean' } },
    allowPositionals: true,
  });
  const folder = positionals[0] ?? '.';
  const place = placeOf(folder);
  if (!place) {
    process.stderr.write(`plugin-check: USAGE: there is no plugin.yaml in ${folder}\n`);
    return EXIT.usage;
  }
  const rows: CheckRow[] = [];
  for await (const row of checkPlugin(place)) {
    rows.push(row);
    if (!values.json) process.stdout.write(`${tableLine(row)}\n`);
  }
  const count = (outcome: CheckRow['outcome']) => rows.filter((row) => row.outcome === outcome).length;
  const [failed, warned] = [count('FAIL'), count('WARN')];
  if (values.json)
    process.stdout.write(`${JSON.stringify({ ok: failed === 0, folder: place.folder, checks: rows })}\n`);
  else process.stdout.write(`${failed === 0 ? 'passed' : 'failed'}: ${failed} failures, ${warned} warnings\n`);
  return failed === 0 ? EXIT.passed : EXIT.failed;
}

process.exitCode = await main(process.argv.slice(2));
