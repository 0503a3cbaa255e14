/** Row 114: how long a plugin waits for the text of a secret, in the Core and in a process: two questions over the border, one after the other. */
import { join } from 'node:path';
import { operations } from '@device-core/plugin-api/services/operations';
import { startCore } from '../../fixtures/core.ts';
import type { Measured, Quartiles, Row, RunOptions } from '../harness.ts';

const KEEPER = join(import.meta.dirname, '../../fixtures/plugins/keeper/plugin.yaml');
const LEVELS = ['inline', 'process'] as const;

/** The last of some rounds of 200: before that V8 has compiled nothing. */
async function waited(isolation: (typeof LEVELS)[number], { quick }: RunOptions): Promise<Measured> {
  await using core = await startCore({
    plugins: {
      operations: '*',
      identity: '*',
      system: '*',
      config: '*',
      'secrets-file': '*',
      keeper: { version: '*', path: KEEPER, isolation },
    },
  });
  const ask = (name: string, params: object) => {
    const call = { signal: AbortSignal.timeout(60_000), deadline: Date.now() + 60_000 };
    return core.service(operations).invoke(name, params, { caller: { kind: 'operator', id: 'operator' }, ...call });
  };
  await ask('secrets.set', { scope: 'plugin.keeper', name: 'own', secretText: 'correct horse battery' });
  let last: Quartiles | undefined;
  for (let round = 0; round < (quick ? 5 : 20); round++)
    last = ((await ask('keeper.do', { act: 'time', name: 'own' })) as { readonly is: Quartiles }).is;
  return last!;
}

export const rows: readonly Row[] = [
  {
    id: 114,
    title: '`secrets.get` and `reveal` of a plugin, one after the other',
    goals: [
      { name: 'inline', goal: 0.1, unit: 'ms' },
      { name: 'process', goal: 0.3, unit: 'ms' },
    ],
    run: async (options) => ({
      inline: await waited('inline', options),
      process: await waited('process', options),
    }),
  },
];
