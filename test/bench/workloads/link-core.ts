/**
 * A Core whose link runs at full speed: one read of a flash after the other. Told the plugin of its port, it writes a line of JSON for each round:
 * transactions of the link, and microseconds of CPU of this process, in which the bridge is not.
 */

import type { SkuPlugin } from '@device-core/plugin-api';
import { bridge } from '@device-core/plugin-api/services/bridge';
import { spi } from '@device-core/plugin-api/services/spi';
import { startCore } from '../../fixtures/core.ts';

export interface LinkRound {
  readonly transactions: number;
  readonly cpu: number;
}

const READ = Buffer.from([3, 0, 0, 0]);
const BYTES = 4_096;
const [, , port = 'port-sim', rounds = '5', transfers = '50'] = process.argv;
const ports: Readonly<Record<string, SkuPlugin>> = {
  'port-sim': { version: '*' },
  'port-spidev': { version: '*', config: { device: '/dev/spidev0.0' } },
};
const handles = [{ name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 }];
await using core = await startCore({
  plugins: {
    operations: '*',
    system: '*',
    endpoints: '*',
    cbp: '*',
    [port]: ports[port]!,
    spi: { version: '*', config: { handles } },
  },
});
const bus = core.service(spi);
const transactions = async () => Number((await core.service(bridge).health()).transactions);
const read = async (count: number): Promise<void> => {
  for (let done = 0; done < count; ) {
    // A bridge that gets no processor is late: that transfer is not counted.
    const late = await bus.transfer('flash', READ, BYTES).then(
      () => false,
      (error: { readonly code?: string }) => {
        if (error.code === 'TIMEOUT') return true;
        throw error;
      },
    );
    if (!late) done++;
  }
};
await read(2 * Number(transfers));
for (let round = 0; round < Number(rounds); round++) {
  const before = await transactions();
  const began = process.cpuUsage();
  await read(Number(transfers));
  const { user, system } = process.cpuUsage(began);
  const told: LinkRound = { transactions: (await transactions()) - before, cpu: user + system };
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
