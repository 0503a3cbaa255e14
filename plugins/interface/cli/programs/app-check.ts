import { setTimeout as later } from 'node:timers/promises';
import { defineProgram, EXIT } from '@device-core/plugin-api/program';
import { AppFolder } from '../desk/app-folder.ts';
import { AppCheck, PING, type Step } from '../desk/check.ts';
import { manifestLines } from '../desk/claims.ts';
import { Simulator } from '../desk/simulator.ts';

interface CheckOptions {
  readonly folder: string;
  readonly seconds: number;
}

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;

/** `devicectl app check` */
export const program = defineProgram<CheckOptions>({
  description:
    'Starts the app in its sandbox on a simulated device with a separate root: start, stop, start; ping; its functions by their examples; what it used of what it claims. Exit status 1 where a step failed.',
  params: {
    type: 'object',
    properties: {
      folder: { type: 'string', default: '.', description: 'of the app' },
      seconds: {
        type: 'number',
        minimum: 0,
        maximum: 3600,
        default: 0,
        description: 'to use it by hand before it is stopped',
      },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ args, out, signal }) {
    const folder = new AppFolder(args.folder);
    const told = async ({ step, state, message }: Step) => {
      if (!out.json) await out.line(`${out.paint(COLOURS[state], state.padEnd(8))} ${step.padEnd(12)} ${message}`);
    };
    const grants = { [folder.id]: folder.claims.map(({ id }) => id) };
    const config = { apps: { ping: PING, watch: false } };
    await using device = await Simulator.start({ folder: folder.path, grants, config }, signal);
    const check = new AppCheck(folder, device, told);
    await check.run(async () => {
      if (args.seconds === 0) return;
      if (!out.json) await out.line(`use it for ${args.seconds} s: devicectl --root ${device.root} ...`);
      await later(args.seconds * 1_000, undefined, { signal }).catch(() => undefined); // Ctrl-C ends the wait
    });
    const { passed, steps, verdicts, minimal, peak, walls } = check;
    const started = steps.some(({ step, state }) => step === 'start' && state === 'ok');
    const claims = verdicts.map(({ claim, verdict, used }) => ({ capability: claim.id, verdict, used }));
    if (out.json) {
      const memory = { peak: peak ?? null, budgetMB: folder.memoryMaxMB ?? null };
      await out.line(JSON.stringify({ ok: passed, app: folder.id, steps, claims, minimal, memory, sandbox: walls }));
    } else if (started && (verdicts.some(({ verdict }) => verdict === 'idle' || verdict === 'wide') || !passed)) {
      await out.line(`\nwhat would have done:\n${manifestLines(minimal)}`);
    }
    return passed ? EXIT.ok : EXIT.answered;
  },
});
