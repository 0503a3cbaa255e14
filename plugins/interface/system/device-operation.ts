import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { DEVICE_FILE, type DeviceFile, parseDeviceFile } from '@device-core/plugin-api/inside/device-file';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Operation } from '@device-core/plugin-api/services/operations';

interface Told extends DeviceFile {
  readonly problem?: string;
}

/** system.device: what the factory wrote of this one device. */
export function deviceOperation({ paths }: Pick<DeviceInfo, 'paths'>): Operation<never, Told> {
  const path = join(paths.etc, DEVICE_FILE);
  return {
    name: 'system.device',
    summary: 'id, serial and calibration of this device, as the factory wrote them',
    description: `Of \`<etc>/${DEVICE_FILE}\`, which \`devicectl image install --provision\` writes. Nothing where there is no such file.`,
    capability: 'system',
    params: { type: 'object', additionalProperties: false },
    result: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'names the device to updates' },
        serial: { type: 'string', description: 'on its label' },
        calibration: {
          type: 'object',
          additionalProperties: true,
          description: 'of its sensors and its glass, in the words of the plugins that read it',
        },
        problem: { type: 'string', description: 'what is wrong with the file' },
      },
    },
    rest: { method: 'GET', path: '/device' },
    cli: { aliases: ['device'] },
    errors: [],
    async run() {
      try {
        const { file, problem } = parseDeviceFile(await readFile(path, 'utf8'));
        return { ...file, ...(problem !== undefined && { problem: `${path}: ${problem}` }) };
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ENOENT' ? {} : { problem: reasonOf(error) };
      }
    },
  };
}
