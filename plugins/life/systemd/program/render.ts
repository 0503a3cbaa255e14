/** Texts of `systemd/` with their places filled in. */

/** A dash would nest slices: `my-device-apps.slice` lies in `my-device.slice`. */
export const SERVICE_NAME = /^[a-z][a-z0-9]{0,15}$/;
const PREFIX = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]*)+$/;
/** Users that a Debian has: a service of that name would run as one of them. */
const TAKEN = 'root daemon bin sys sync games man lp mail news uucp proxy backup list irc gnats nobody sshd messagebus';

export interface Values {
  /** `<service>` of the specification: the Core's user, units and folders are named after it. */
  readonly service: string;
  /** Folder of the Core's code, as the device sees it. */
  readonly prefix: string;
}

/** Why these are no values; undefined when they are. */
export function valuesProblem({ service, prefix }: Values): string | undefined {
  if (!SERVICE_NAME.test(service)) return `the name of the service "${service}" does not fit ${SERVICE_NAME}`;
  if (TAKEN.split(' ').includes(service)) return `the name of the service is that of the system's user ${service}`;
  if (!PREFIX.test(prefix)) return `the folder "${prefix}" is not a plain absolute path`;
  return undefined;
}

/** Throws for a placeholder that it does not know, and for values that would say more than a name. */
export function render(text: string, values: Values): string {
  const problem = valuesProblem(values);
  if (problem !== undefined) throw new Error(problem);
  const known: Readonly<Record<string, string>> = { SERVICE: values.service, PREFIX: values.prefix };
  return text.replaceAll(/@([A-Za-z_][A-Za-z0-9_]*)@/g, (whole, name: string) => {
    const value = Object.hasOwn(known, name) ? known[name] : undefined;
    if (value === undefined) throw new Error(`there is no placeholder ${whole}`);
    return value;
  });
}
