/** `<etc>/device.yaml`: what is true of one device alone. The factory writes it, and no update touches it. */
import { maybe } from '../kits/maybe.ts';
import { parseYaml } from './yaml.ts';

export const DEVICE_FILE = 'device.yaml';

export interface DeviceFile {
  /** Id of the device for updates and fleet counts; stable for its life. */
  readonly id?: string;
  /** On its label. */
  readonly serial?: string;
  /** Calibration of its sensors and its glass, in the words of the plugins that read it. */
  readonly calibration?: Readonly<Record<string, unknown>>;
}

const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(value),
  serial: (value) => typeof value === 'string' && value.length > 0 && value.length <= 128,
  calibration: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** Members that are as they must be, and the first that is not, with its line where that is known. */
export function parseDeviceFile(text: string): { readonly file: DeviceFile; readonly problem?: string } {
  const { value, errors } = parseYaml(text);
  const [first] = errors;
  if (first !== undefined) return { file: {}, problem: `line ${first.line}: ${first.message}` };
  if (value === null || value === undefined) return { file: {} };
  if (typeof value !== 'object' || Array.isArray(value)) return { file: {}, problem: 'it is no mapping' };
  const all = Object.entries(value);
  const isGood = ([name, one]: [string, unknown]): boolean => Object.hasOwn(MEMBERS, name) && MEMBERS[name]!(one);
  const wrong = all.find((member) => !isGood(member));
  const problem = wrong && `${wrong[0]} is none of a device, or not as it must be`;
  return { file: Object.fromEntries(all.filter(isGood)), ...maybe({ problem }) };
}
