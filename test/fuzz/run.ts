/** The fuzz lane for as long as it is asked to run: `npm run test:fuzz -- --minutes 5`. */
import { randomInt } from 'node:crypto';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { readUsage } from '../runner/usage.ts';
import { fuzz } from './lane.ts';
import { TARGETS } from './targets.ts';

const KEEP = join(import.meta.dirname, 'cases');
const NAMES = TARGETS.map(({ name }) => name);
const HELP = `usage: node test/fuzz/run.ts [--minutes N] [--seed N] [--target NAME]... [--case N] [--keep FOLDER]

Mutates valid bytes and hands them to each parser that takes bytes of strangers. Faults are a crash, an error that is
none of the table, a second of CPU, 200 MiB, and bytes that are taken and should not be.

  --minutes N     for all targets together; 1, if absent
  --seed N        the same seed makes the same cases; a random one, if absent, which is printed
  --target NAME   these alone: ${NAMES.join(' ')}
  --case N        this case alone, of one target: as it was printed
  --keep FOLDER   where inputs are kept that found a fault; ${relative(process.cwd(), KEEP)}, if absent. The suite
                  runs what lies there, so that a fault stays mended.
`;

const options = readUsage('test/fuzz/run.ts', HELP, process.argv.slice(2), (args) => {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      target: { type: 'string', multiple: true, default: [] },
      case: { type: 'string' },
      keep: { type: 'string', default: KEEP },
    },
  });
  for (const name of values.target)
    if (!NAMES.includes(name)) throw new Error(`there is no target ${name}; there are ${NAMES.join(' ')}`);
  if (values.case !== undefined && values.target.length !== 1)
    throw new Error('--case is a case of one target: name it with --target');
  const number = (name: 'minutes' | 'seed' | 'case', text: string, least: number): number => {
    if (text.trim() !== '' && Number(text) >= least) return Number(text);
    throw new Error(`--${name} takes a number of ${least} or more, not ${text}`);
  };
  return {
    minutes: number('minutes', values.minutes, 0),
    seed: number('seed', values.seed, 0),
    targets: values.target.length > 0 ? values.target : NAMES,
    one: values.case === undefined ? undefined : number('case', values.case, 0),
    keep: values.keep,
  };
});

const costOf = (name?: string): number => TARGETS.find((one) => one.name === name)?.cost ?? 1;
const { minutes, seed, targets, one, keep } = options;
console.log(`seed ${seed}`);
const common = { table: join(import.meta.dirname, 'targets.ts'), targets, seed, keep, print: console.log };
const ms = (minutes * 60_000) / targets.length;
const { findings } = await fuzz(
  one === undefined
    ? { ...common, cases: Number.MAX_SAFE_INTEGER, ms }
    : { ...common, cases: (one + 1) * costOf(targets[0]), from: one },
);
for (const { target, index } of findings)
  console.log(`again: npm run test:fuzz -- --seed ${seed} --target ${target} --case ${index}`);
console.log(findings.length === 0 ? 'no fault was found' : `${findings.length} faults; the inputs lie below ${keep}`);
process.exitCode = findings.length > 0 ? 1 : 0;
