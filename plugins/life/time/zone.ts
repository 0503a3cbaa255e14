import { readlink } from 'node:fs/promises';
import { CoreError } from '@device-core/plugin-api';

const MARK = '/zoneinfo/';

/** The zone that a link like `/etc/localtime` leads to; that of this process where it says nothing. */
export async function zoneOf(link: string): Promise<string> {
  const target = await readlink(link).catch(() => '');
  const at = target.lastIndexOf(MARK);
  const zone = at < 0 ? '' : target.slice(at + MARK.length).replace(/^(posix|right)\//, '');
  return isZone(zone) ? zone : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A name of a zone, `Europe/Berlin`; `+02:00` is none. */
export function isZone(zone: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Throws PARAMS_INVALID. */
export function checkZone(zone: string): void {
  if (isZone(zone)) return;
  const reason = 'it is no name of a time zone, as Europe/Berlin is';
  throw new CoreError('PARAMS_INVALID', { where: `zone ${JSON.stringify(zone)}`, reason });
}
