import { connectDBus, NO_SCOPE, Units } from '@device-core/plugin-api/inside/dbus';
import { Refused, type WardenConfig } from './config.ts';
import { giveTree, ownSockets, reclaimFolders, visitPlain } from './folders.ts';
import { judged, ownFolders } from './judge.ts';
import type { Guest, UnitFiles } from './unit-files.ts';

export interface WardenParts {
  readonly config: WardenConfig;
  /** User of the Core. */
  readonly core: number;
  readonly files: UnitFiles;
  /** Socket of the system's bus. */
  readonly bus: string;
}

/**
 * Acts of root for the Core: it makes, starts, limits and ends guests that the device allows, and nothing else. Takes a line of JSON, and
 * answers with one: `{"ok":..}`, `{"refused":"<reason>"}` if nothing was done, `{"failed":"<reason>"}` if the system failed.
 */
export function wardenOf({ config, core, files, bus }: WardenParts): (line: string) => Promise<string> {
  type Request = Readonly<Record<string, unknown>>;
  const own = (guest: Guest): void => {
    for (const folder of guest.own) giveTree(folder, guest.uid, [core, core], core);
    ownSockets(guest.run, guest.uid, core);
  };
  const change = async ({ name }: Request, how: (units: Units, unit: string, guest: Guest) => Promise<void>) => {
    const guest = files.guest(name);
    using connection = await connectDBus({ path: bus, scope: NO_SCOPE });
    await how(new Units(connection), `${guest.name}.service`, guest);
  };
  const verbs: Readonly<Record<string, (request: Request) => unknown>> = {
    put: ({ spec: value }) => {
      const spec = judged(value, config);
      for (const path of [spec.code, spec.run]) visitPlain(path);
      return files.put(spec, ownFolders(spec), config);
    },
    drop: (request) =>
      change(request, async (units, unit, guest) => {
        await units.stop(unit);
        files.drop(guest);
        await units.forget(unit);
      }),
    own: ({ name }) => own(files.guest(name)),
    start: (request) =>
      change(request, async (units, unit, guest) => {
        own(guest);
        await units.refresh(unit);
        // systemd keeps a quota beside the unit, and it would hold up the start.
        await units.limit(unit, undefined);
        await units.start(unit);
      }),
    limit: (request) => {
      const most = config.ceilings.cpuPercent ?? 6_400;
      const percent = request.cpuPercent;
      if (typeof percent !== 'number' || !(percent >= 1 && percent <= most))
        throw new Refused(`cpuPercent ${JSON.stringify(percent)} is not 1 to ${most}`);
      return change(request, (units, unit) => units.limit(unit, percent));
    },
    stop: (request) => change(request, (units, unit) => units.stop(unit)),
    kill: (request) => change(request, (units, unit) => units.kill(unit)),
    release: ({ id }) => {
      if (typeof id !== 'string' || !/^\w[\w-]*(\.\w[\w-]*)*$/.test(id))
        throw new Refused(`there is no app ${JSON.stringify(id)}`);
      giveTree(`${config.state}/apps/${id}/data`, core, config.uids.app, core);
    },
    reclaim: () => reclaimFolders(config, core),
    list: () => files.guests().map(({ name, id, uid }) => ({ name, id, uid })),
  };
  return async (line) => {
    try {
      const request = Object(JSON.parse(line)) as Request;
      const verb = Object.hasOwn(verbs, String(request.verb)) ? verbs[String(request.verb)] : undefined;
      if (!verb) throw new Refused(`there is no verb ${JSON.stringify(request.verb)}`);
      return JSON.stringify({ ok: (await verb(request)) ?? true });
    } catch (error) {
      const told = error instanceof Refused || error instanceof SyntaxError ? 'refused' : 'failed';
      return JSON.stringify({ [told]: error instanceof Error ? error.message : String(error) });
    }
  };
}
