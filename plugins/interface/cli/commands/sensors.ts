/** `devicectl sensors`: what the device senses. */
import type { SensorInfo, SensorReading } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { cell } from '../output.ts';

export function addSensors(program: Command): void {
  const sensors = program.command('sensors').description('what the device senses');
  sensors
    .command('list', { isDefault: true })
    .description('every sensor and its latest reading')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/sensors');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.sensors as readonly SensorInfo[]).map((one) => [
          one.name,
          cell(one.chip),
          one.latest ? figures(one, one.latest) : '-',
          String(one.readings),
          String(one.failures),
          cell(one.problem),
        ]);
        await out.table(['SENSOR', 'CHIP', 'LATEST', 'READINGS', 'FAILURES', 'PROBLEM'], rows, {
          empty: 'there are no sensors',
        });
      }),
    );
  sensors
    .command('read <name>')
    .description('read a sensor now')
    .action(
      action<[string]>(async ({ client, out }, [name]) => {
        const answer = await client.get(`/sensors/${encodeURIComponent(name)}`);
        if (out.json) return out.line(answer.text);
        for (const [quantity, value] of Object.entries(answer.body.values as SensorReading['values']))
          await out.line(`${quantity.padEnd(12)}  ${value}`);
      }),
    );
}

function figures({ quantities }: SensorInfo, { values }: SensorReading): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value} ${quantities[name]?.unit ?? ''}`.trim())
    .join(', ');
}
