import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { defineProgram, EXIT, type ExitCode, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { Checkout } from '../image/build/checkout.ts';
import { contentsOf } from '../image/build/contents.ts';
import { skuOf } from '../image/build/sku.ts';
import { endpointFindings, isHost } from './endpoints.ts';
import { driftOf, lockFileOf, lockOf, readLock } from './lock-file.ts';
import { CHECKOUT, CORE, checkedSku, placeOf } from './resolved.ts';

const NONE = { problems: [], differences: [] } as const;

interface Args {
  readonly file: string;
  readonly locked: boolean;
  readonly source: string;
}

/** `devicectl sku check` */
export const program = defineProgram<Args>({
  description:
    'Every mistake with its file and line. With --locked also everything that is not as <sku>.lock.yaml has it.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'of the SKU' },
      locked: { type: 'boolean', default: false, description: 'plugins, packages and Node are those of the lock' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout with its packages, for --locked' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ out, args }) {
    const { file, locked, source } = args;
    if (!locked) return hasHostBuses(file) ? endpointsToo(out, file) : coreChecks(file, out.json);
    const lock = readLock(file);
    if (!lock) throw usage(`${file} is not locked: there is no ${lockFileOf(file)}`, 'devicectl sku lock writes it');
    const checkout = new Checkout(source);
    const sku = skuOf(resolve(file), checkout);
    const drift = driftOf(lock, lockOf(file, checkout, sku, contentsOf(checkout, sku)), checkout);
    if (out.json) await out.line(JSON.stringify({ ok: drift.length === 0, problems: [], drift }));
    else if (drift.length === 0) {
      const [plugins, packages] = [Object.keys(lock.plugins).length, Object.keys(lock.packages).length];
      await out.line(`${file}: SKU ${lock.sku} is what was locked: ${plugins} plugins, ${packages} packages`);
    } else {
      for (const { what, text } of drift) await out.line(`${what} ${text}`);
      await out.line(`${file} is not what was locked; where that is meant: devicectl sku lock ${file}`);
    }
    return drift.length === 0 ? EXIT.ok : EXIT.answered;
  },
});

function hasHostBuses(file: string): boolean {
  try {
    return Object.keys(readSkuFamily(file).value.plugins).some(isHost);
  } catch {
    return false; // a file that is no SKU: the Core says why
  }
}

/** Findings of the Core, and those about the endpoints of handles. */
async function endpointsToo(out: ProgramOutput, file: string): Promise<ExitCode> {
  const checked = checkedSku(file);
  const { problems, differences } = checked.resolved ? endpointFindings(checked.resolved) : NONE;
  const all = [...checked.problems, ...problems];
  if (out.json) await out.line(JSON.stringify({ ...checked, ok: all.length === 0, problems: all, differences }));
  else {
    if (checked.problems.length > 0 || problems.length === 0) await coreChecks(file, false);
    for (const one of problems) await out.line(`${placeOf(one)}: ${one.code} ${one.message}`);
    if (differences.length > 0) await out.line('these handles are on the host, and differ from a bridge:');
    for (const { plugin, handle, endpoint, text } of differences)
      await out.line(`  ${plugin} handle ${handle} (${endpoint}): ${text}`);
  }
  return all.length === 0 ? EXIT.ok : EXIT.answered;
}

/** The Core of this checkout, with our own output. */
async function coreChecks(file: string, json: boolean): Promise<ExitCode> {
  const words = ['check', file, ...(json ? ['--json'] : [])];
  const child = spawn(process.execPath, [CORE, ...words], { stdio: 'inherit' });
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return code === EXIT.ok || code === EXIT.usage ? code : EXIT.answered;
}
