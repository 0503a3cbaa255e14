import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { defineProgram, EXIT, type ExitCode, usage } from '@device-core/plugin-api/program';
import { Checkout } from '../image/build/checkout.ts';
import { contentsOf } from '../image/build/contents.ts';
import { skuOf } from '../image/build/sku.ts';
import { driftOf, lockFileOf, lockOf, readLock } from './lock-file.ts';
import { CHECKOUT, CORE } from './resolved.ts';

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
    if (!locked) return coreChecks(['check', file, ...(out.json ? ['--json'] : [])]);
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

/** The Core of this checkout, with our own output. */
async function coreChecks(words: readonly string[]): Promise<ExitCode> {
  const child = spawn(process.execPath, [CORE, ...words], { stdio: 'inherit' });
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return code === EXIT.ok || code === EXIT.usage ? code : EXIT.answered;
}
