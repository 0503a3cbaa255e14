import type { AppSpec } from '../../contract/app-spec.ts';
import { userOf } from './unit.ts';

/** The user and the group of a guest as records of /run/userdb (systemd, "JSON User Records"): file name -> text. */
export function accountOf(spec: Pick<AppSpec, 'kind' | 'uid' | 'id'>): Readonly<Record<string, string>> {
  const { uid, id } = spec;
  const name = userOf(spec);
  const group = JSON.stringify({ groupName: name, gid: uid });
  const user = JSON.stringify({
    userName: name,
    realName: id,
    uid,
    gid: uid,
    disposition: 'system',
    locked: true,
    homeDirectory: '/',
    shell: '/usr/sbin/nologin',
  });
  return { [`${uid}.user`]: user, [`${name}.user`]: user, [`${uid}.group`]: group, [`${name}.group`]: group };
}
