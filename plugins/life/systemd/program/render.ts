/** Texts of `systemd/` with their places filled in. */

/** A dash would nest slices: `my-device-apps.slice` lies in `my-device.slice`. */
export const SERVICE_NAME = /^[a-z][a-z0-9]{0,15}$/;
const PREFIX = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]*)+$/;
/** Users that a Debian has: a service of that name would run as one of them. */
const TAKEN = 'root daemon bin sys sync games man lp mail news uucp proxy backup list irc gnats nobody sshd messagebus';

export interface Values {
  /** `<service>` of the specification: the Core's user, units and folders are named after it. */
  readonly service: string;
  /** Folder of the Core's code, as the device sees it; with `slots` the folder that the slots lie in. */
  readonly prefix: string;
  /** The Core is an image in one of two slots, and a boot loader starts it. */
  readonly slots?: boolean;
}

/** Folder and values of a device with slots. */
export const systemOf = (service: string): string => `/var/lib/${service}-system`;
export const slottedValues = (service: string): Values => ({
  service,
  prefix: `${systemOf(service)}/slots`,
  slots: true,
});

/** Code that runs as root lies where neither the Core nor an update of it writes: in the tree of the loader. */
const rootsOwn = ({ service, prefix, slots = false }: Values): Readonly<Record<string, string>> => {
  const code = slots ? `${systemOf(service)}/boot/current` : prefix;
  return { CODE: code, NODE: slots ? `${code}/bin/node` : `${code}/node_modules/.bin/node`, JS: slots ? 'js' : 'ts' };
};

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
  const known: Readonly<Record<string, string>> = {
    SERVICE: values.service,
    PREFIX: values.prefix,
    ...rootsOwn(values),
  };
  return text.replaceAll(/@([A-Za-z_][A-Za-z0-9_]*)@/g, (whole, name: string) => {
    const value = Object.hasOwn(known, name) ? known[name] : undefined;
    if (value === undefined) throw new Error(`there is no placeholder ${whole}`);
    return value;
  });
}

/** Text of a unit in which `@UNIT@` and `@START@` stand for the lines that `part`, a drop-in by its form, has in its two sections. */
export function spliced(text: string, part: string): string {
  const [, unit = '', start = ''] = /^\[Unit\]\n([\s\S]*?)\n\[Service\]\n([\s\S]*)$/m.exec(part) ?? [];
  return text.replace('@UNIT@\n', () => unit).replace('@START@\n', () => start);
}
