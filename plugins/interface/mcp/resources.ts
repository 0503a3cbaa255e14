/** Resources that a client reads without a call: the device, and the sensors that its bearer was given. */
import { CoreError } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Sensors } from '@device-core/plugin-api/services/sensors';
import type { Asker } from './calls.ts';
import { CODE, Refusal } from './messages.ts';

const JSON_TYPE = 'application/json';
const DEVICE = 'device://info';
const SENSOR = 'device://sensors/';

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

export interface Readable {
  readonly info: DeviceInfo;
  readonly sensors: Sensors | undefined;
}

export async function resourcesOf(asker: Asker, { sensors }: Readable): Promise<readonly Resource[]> {
  const list = (await sensors?.list()) ?? [];
  return [
    { uri: DEVICE, name: 'device', description: 'Product and versions of this device.', mimeType: JSON_TYPE },
    ...list
      .filter(({ name }) => mayRead(asker, name))
      .map(({ name, title }) => ({
        uri: `${SENSOR}${name}`,
        name: `sensor ${name}`,
        description: `Latest values of the sensor ${title}.`,
        mimeType: JSON_TYPE,
      })),
  ];
}

export const TEMPLATES = [
  { uriTemplate: `${SENSOR}{name}`, name: 'sensor', description: 'Latest values of one sensor.', mimeType: JSON_TYPE },
] as const;

/** Throws Refusal for a URI that is none of ours, CAPABILITY_DENIED, and the codes of a sensor. */
export async function readResource(uri: unknown, asker: Asker, { info, sensors }: Readable, signal: AbortSignal) {
  if (typeof uri !== 'string') throw new Refusal(400, CODE.params, 'cannot read a resource: uri is missing');
  if (uri === DEVICE) return contents(uri, { sku: info.sku, core: info.core });
  // Before a look at the list: a refusal does not say which sensors there are.
  const wanted = uri.startsWith(SENSOR) ? uri.slice(SENSOR.length, SENSOR.length + 80) : undefined;
  if (wanted !== undefined && !mayRead(asker, wanted)) throw denied(asker, wanted);
  const list = (await sensors?.list()) ?? [];
  const found = list.find(({ name }) => uri === `${SENSOR}${name}`);
  if (!sensors || !found)
    throw new Refusal(404, CODE.resource, `there is no resource ${uri.slice(0, 200)}`, { uri: uri.slice(0, 200) });
  const { name, title, quantities } = found;
  const reading = await sensors.read(name, { signal });
  return contents(uri, { name, title, quantities, ...reading });
}

/** The operator brings no bearer, and reads all; a client reads what its bearer names. */
function mayRead({ client }: Asker, sensor: string): boolean {
  return client === undefined || (client.sensors?.includes(sensor) ?? false);
}

function denied({ name }: Asker, sensor: string): CoreError {
  const capability = `sensors.${sensor}`;
  const hint = `devicectl mcp add NAME --sensors ${sensor}`;
  return new CoreError('CAPABILITY_DENIED', { caller: `client ${name}`, capability, hint });
}

function contents(uri: string, value: object) {
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}
