/** Row 104: what it costs to look for secrets in each finished line of the log, beside the same line without. */
import { randomBytes } from 'node:crypto';
import { openLog } from '../../../kernel/boot/log.ts';
import { HookRegistry } from '../../../kernel/hooks.ts';
import { startScan } from '../../../plugins/state/secrets/scan/scan.ts';
import { alternate, type Measured, type Row, type RunOptions } from '../harness.ts';

/** Writes one line a call, to nowhere; undefined: nobody taps hook log.line. */
function writer(secrets?: number): () => void {
  const hooks = new HookRegistry();
  const { log, scan } = openLog({
    to: '/dev/null',
    level: 'info',
    stderr: false,
    limits: { fileBytes: Number.MAX_SAFE_INTEGER },
  });
  scan.use(hooks.caller('log.line'));
  if (secrets !== undefined) {
    const { texts, line } = startScan();
    for (let index = 0; index < secrets; index++)
      texts.changed(`shared/s${index}`, randomBytes(12 + (index % 20)).toString(index % 2 ? 'base64' : 'hex'));
    hooks.tap('log.line', 'secrets', line, 0);
  }
  let count = 0;
  // The logger of a plugin has a limit per second: here lines are written as fast as they can be.
  return () =>
    log.info({ method: 'GET', path: `/apps/${count++}`, status: 200, caller: 'operator' }, 'a request was answered');
}

async function against(secrets: number, { quick }: RunOptions): Promise<Measured> {
  const operations = quick ? 2_000 : 20_000;
  const side = (write: () => void) => ({
    operations,
    load: () => {
      for (let index = 0; index < operations; index++) write();
    },
  });
  const { cpu } = await alternate(side(writer(secrets)), side(writer()), quick ? 5 : 15, 2);
  return cpu;
}

export const rows: readonly Row[] = [
  {
    id: 104,
    title: 'A line of the log that is looked through for secrets, against one that is not',
    goals: [
      { name: '20 secrets', goal: 1.25, floor: 1 },
      { name: '200 secrets', goal: 1.4, floor: 1 },
    ],
    run: async (options) => ({ '20 secrets': await against(20, options), '200 secrets': await against(200, options) }),
  },
];
