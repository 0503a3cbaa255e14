import type { Logger } from '@device-core/plugin-api';
import type { KernelLog } from '../kernel-log.ts';

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: object;
  readonly message: string;
}

/** Keeps what one plugin logs, and of all others, the kernel among them, what is a warning or an error. */
export function recordingLog(plugin: string, lines: LogLine[], of?: string): KernelLog {
  const level = (name: keyof Logger) => (fields: object, message: string) => {
    if (of === plugin || name === 'warn' || name === 'error') lines.push({ level: name, fields, message });
  };
  return {
    debug: level('debug'),
    info: level('info'),
    warn: level('warn'),
    error: level('error'),
    child: (members) => recordingLog(plugin, lines, (members as { readonly plugin?: string }).plugin ?? of),
  };
}
