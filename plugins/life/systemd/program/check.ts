import { existsSync } from 'node:fs';
import { defineProgram, EXIT, Failure, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { SERVICE_NAME } from './render.ts';
import { Root, runTool } from './root.ts';

/** The highest exposure that `systemd-analyze security` may find, in tenths. */
const MOST: Readonly<Record<string, number>> = {
  'core.service': 20,
  'safe.service': 20,
  'warden.service': 12,
  'slots.service': 15,
};
const OTHERS = ['warden.socket', 'credentials.socket', 'slots.socket', 'apps.slice'];

interface Finding {
  readonly unit: string;
  /** Exposure by systemd-analyze, 0 to 10. Absent for a unit that runs nothing. */
  readonly exposure?: number;
  readonly most?: number;
  readonly problems: readonly string[];
}

/** `devicectl system check` */
export const program = defineProgram<{ readonly service: string }>({
  description: 'Units must be what systemd reads without a word, and expose no more than their bars.',
  params: {
    type: 'object',
    properties: {
      service: { type: 'string', default: 'device' },
    },
  },
  async run({ out, args, target }) {
    const { service } = args;
    if (!SERVICE_NAME.test(service)) throw usage(`the name of the service "${service}" does not fit ${SERVICE_NAME}`);
    const root = Root.of(target.root);
    if (!existsSync(root.path(`usr/lib/systemd/system/${service}-core.service`)))
      throw new Failure(EXIT.answered, 'NOT_FOUND', `there is no service ${service} in ${root.folder}`);
    const there = [...Object.keys(MOST), ...OTHERS].filter((name) =>
      // A device with slots has no unit of safe mode, and a checkout no writer of slots.
      existsSync(root.path(`usr/lib/systemd/system/${service}-${name}`)),
    );
    const findings = there.map((name) => examined(root, `${service}-${name}`, MOST[name]));
    await told(out, findings);
    return findings.every(({ problems }) => problems.length === 0) ? EXIT.ok : EXIT.answered;
  },
});

function examined(root: Root, unit: string, most: number | undefined): Finding {
  const where = root.live ? [] : [`--root=${root.folder}`];
  const read = runTool('systemd-analyze', 'verify', '--man=no', ...where, unit);
  if (read === undefined)
    throw new Failure(EXIT.answered, 'UNAVAILABLE', 'systemd-analyze is not installed', {
      hint: 'apt-get install systemd',
    });
  // It says 0 for a directive that it does not know: what counts is that it says nothing.
  const said = read.stderr === '' ? [] : read.stderr.split('\n');
  // Files that the boot loader makes at each boot are missing before the first.
  const problems = said.filter((line) => root.live || !/Command \/run\/\S+ is not executable/.test(line));
  if (most === undefined) return { unit, problems };
  const scored = runTool(
    'systemd-analyze',
    ...['security', '--offline=true', `--threshold=${most}`, '--no-pager', ...where, unit],
  );
  const exposure = Number(/Overall exposure level for .*?: ([\d.]+)/.exec(scored?.stdout ?? '')?.[1] ?? Number.NaN);
  if (!scored?.ok) problems.push(`its exposure is ${exposure}, more than ${most / 10}`);
  return { unit, exposure, most: most / 10, problems };
}

async function told(out: ProgramOutput, findings: readonly Finding[]): Promise<void> {
  const ok = findings.every(({ problems }) => problems.length === 0);
  if (out.json) return out.line(JSON.stringify({ ok, units: findings }));
  for (const { unit, exposure, most, problems } of findings) {
    await out.line(
      `${unit}: ${problems.length === 0 ? 'fine' : 'not fine'}${exposure === undefined ? '' : `, exposure ${exposure} of ${most}`}`,
    );
    for (const problem of problems) await out.line(`  ${problem}`);
  }
}
