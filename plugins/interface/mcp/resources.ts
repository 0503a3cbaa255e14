/** Resources that a client reads without a call: the device, and its sensors. */
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Sensors } from '@device-core/plugin-api/services/sensors';
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

export async function resourcesOf({ sensors }: Readable): Promise<readonly Resource[]> {
  const list = (await sensors?.list()) ?? [];
  return [
    { uri: DEVICE, name: 'device', description: 'Product and versions of this device.', mimeType: JSON_TYPE },
    ...list.map(({ name, title }) => ({
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

/** Throws Refusal for a URI that is none of ours, and the codes of a sensor. */
export async function readResource(uri: unknown, { info, sensors }: Readable, signal: AbortSignal) {
  if (typeof uri !== 'string') throw new Refusal(400, CODE.params, 'cannot read a resource: uri is missing');
  if (uri === DEVICE) return contents(uri, { sku: info.sku, core: info.core });
  const list = (await sensors?.list()) ?? [];
  const found = list.find(({ name }) => uri === `${SENSOR}${name}`);
  if (!sensors || !found)
    throw new Refusal(404, CODE.resource, `there is no resource ${uri.slice(0, 200)}`, { uri: uri.slice(0, 200) });
  const { name, title, quantities } = found;
  const reading = await sensors.read(name, { signal });
  return contents(uri, { name, title, quantities, ...reading });
}

function contents(uri: string, value: object) {
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}
