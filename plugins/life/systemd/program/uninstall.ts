import { readFile, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { type Installed, prefixOf, recordOf, unitsOf } from './install.ts';
import { SERVICE_NAME } from './render.ts';
import { Root, runTool } from './root.ts';

/** `devicectl system uninstall` */
export const program = defineProgram<{ readonly service: string; readonly purge?: boolean }>({
  description: 'State, settings and the user stay, unless --purge.',
  params: {
    type: 'object',
    properties: {
      service: { type: 'string', default: 'device' },
      purge: { type: 'boolean', description: 'state and settings of the device and of all its apps go, too' },
    },
  },
  async run({ out, args, target }) {
    const { service, purge } = args;
    if (!SERVICE_NAME.test(service)) throw usage(`the name of the service "${service}" does not fit ${SERVICE_NAME}`);
    const root = Root.of(target.root);
    const prefix = prefixOf(service);
    const record = await readFile(root.path(recordOf(prefix)), 'utf8').catch(() => {
      throw new Failure(EXIT.answered, 'NOT_FOUND', `there is no service ${service} in ${root.folder}`);
    });
    const { files } = JSON.parse(record) as Installed;
    if (root.live) {
      const ended = runTool('systemctl', 'stop', ...unitsOf(service, files));
      if (ended && !ended.ok) throw new Failure(EXIT.answered, 'INTERNAL', `systemctl stop: ${ended.stderr}`);
    }
    const kept = purge ? [] : files.filter((path) => path.startsWith(`etc/${service}/`));
    for (const path of files.filter((one) => !kept.includes(one))) {
      await rm(root.path(path), { force: true });
      // The folders of drop-ins are ours alone.
      if (/(\.service|-core)\.d$/.test(dirname(path))) await rmdir(root.path(dirname(path))).catch(() => undefined);
    }
    for (const folder of purge ? [`/etc/${service}`, `/var/lib/${service}`] : [])
      await rm(root.path(folder), { recursive: true, force: true });
    // Last, for it says what there is to take away.
    await rm(root.path(prefix), { recursive: true, force: true });
    if (root.live) runTool('systemctl', 'daemon-reload');
    if (out.json) return out.line(JSON.stringify({ ok: true, service, root: root.folder, kept }));
    await out.line(`${service} is gone from ${root.folder}`);
    for (const path of kept) await out.line(`  kept /${path}`);
    if (!purge) await out.line(`  kept /var/lib/${service}`);
  },
});
