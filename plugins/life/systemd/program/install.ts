import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { defineProgram, EXIT, Failure, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { type SystemFiles, systemFiles } from './files.ts';
import { copyFiles, nodeOf, productionFiles } from './production.ts';
import { slottedValues, type Values, valuesProblem } from './render.ts';
import { Root, runTool } from './root.ts';
import { skuForService } from './sku.ts';
import { dropInOf, needsOf, profileLinesOf } from './sku-needs.ts';
import { wardenConfigOf } from './warden-config.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../../..');

interface InstallOptions {
  readonly sku: string;
  readonly service?: string;
  readonly source: string;
  readonly dryRun?: boolean;
  readonly slots?: boolean;
}

/** Installed files, listed beside the code: `system uninstall` removes them. */
export interface Installed {
  readonly service: string;
  readonly prefix: string;
  readonly files: readonly string[];
}

const recordText = (record: Installed): string => `${JSON.stringify(record, null, 2)}\n`;
export const recordOf = (prefix: string) => join(prefix, 'installed.json');
/** Default folder of the Core's code. */
export const prefixOf = (service: string) => `/usr/lib/${service}`;

/** `devicectl system install` */
export const program = defineProgram<InstallOptions>({
  description:
    '--root DIR names the tree of an image. Without it it is this machine: units are loaded, and started at once.',
  params: {
    type: 'object',
    required: ['sku'],
    properties: {
      sku: { type: 'string', description: 'file of the SKU' },
      service: { type: 'string', description: 'name of the service (default: that of the SKU, or device)' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout with its packages' },
      slots: {
        type: 'boolean',
        description: 'units alone, for a Core that is an image in slots: of devicectl image install',
      },
      dryRun: { type: 'boolean', description: 'say what would be written' },
    },
  },
  async run({ out, args, target }) {
    const checkout = resolve(args.source);
    if (!existsSync(join(checkout, 'node_modules/.bin/node')))
      throw usage(`${args.source} is no checkout with its packages`, 'run npm ci there');
    const { sku, text, reachesOut } = await skuForService(args.sku, args.service ?? undefined, checkout);
    const service = sku.service ?? args.service ?? 'device';
    const { slots = false } = args;
    const values: Values = slots ? slottedValues(service) : { service, prefix: prefixOf(service) };
    const problem = valuesProblem(values);
    if (problem !== undefined) throw usage(problem);
    const root = Root.of(target.root);
    await notSomebodyElses(root, values);
    const needs = needsOf(sku, reachesOut);
    const files = await systemFiles(checkout, values, {
      sku: text,
      dropIn: dropInOf(needs, sku.id),
      profile: profileLinesOf(sku, needs),
      systemd: root.systemd,
      warden: wardenConfigOf(sku, values, slots ? '' : await nodeOf(checkout, values.prefix)),
    });
    const code = slots ? [] : await productionFiles(checkout);
    if (args.dryRun === true) return told(out, root, { ...values, files, count: code.length, done: false });
    for (const path of [values.prefix, ...Object.keys(files.texts), ...Object.keys(files.links)])
      await root.inside(path);
    const record: Installed = {
      service,
      prefix: values.prefix,
      files: [...Object.keys(files.texts), ...Object.keys(files.links)],
    };
    if (slots) await root.write(recordOf(prefixOf(service)), recordText(record));
    else await installCode(root, checkout, code, values.prefix, record);
    for (const [path, content] of Object.entries(files.texts)) await root.write(path, content);
    for (const [path, to] of Object.entries(files.links)) await root.link(path, to);
    await accounts(root, service);
    if (root.live && slots) runTool('systemctl', 'daemon-reload');
    else if (root.live) starts(service, record.files);
    await told(out, root, { ...values, files, count: code.length, done: true });
  },
});

/** A user of that name who is not ours would be the Core. */
async function notSomebodyElses(root: Root, { service }: Values): Promise<void> {
  if (existsSync(root.path(`usr/lib/sysusers.d/${service}.conf`))) return;
  const users = await readFile(root.path('etc/passwd'), 'utf8').catch(() => '');
  if (users.split('\n').some((line) => line.startsWith(`${service}:`)))
    throw usage(`the system has a user ${service} of another program`, 'choose another --service');
}

/** A new tree beside the old one, then both names change: there is never half of one. */
async function installCode(
  root: Root,
  checkout: string,
  code: readonly string[],
  prefix: string,
  record: Installed,
): Promise<void> {
  const place = await root.place(prefix);
  const fresh = `${place}.new`;
  const former = `${place}.former`;
  for (const left of [fresh, former]) await rm(left, { recursive: true, force: true });
  await copyFiles(checkout, code, fresh);
  await new Root(fresh).write('installed.json', recordText(record));
  if (existsSync(place)) await rename(place, former);
  await rename(fresh, place);
  await rm(former, { recursive: true, force: true });
}

/** Users and folders, by the tools of systemd where they are; else at the next boot, which looks when /usr is newer than what it knows. */
async function accounts(root: Root, service: string): Promise<void> {
  const made = runTool('systemd-sysusers', ...(root.live ? [] : [`--root=${root.folder}`]), `${service}.conf`);
  if (made && !made.ok) throw new Failure(EXIT.answered, 'INTERNAL', `systemd-sysusers: ${made.stderr}`);
  await mkdir(root.path('usr'), { recursive: true });
  const now = new Date();
  await utimes(root.path('usr'), now, now);
}

/** Services first; of what `files` of the system there are. */
export const unitsOf = (service: string, files: readonly string[]): readonly string[] =>
  [
    'core.service',
    'safe.service',
    'warden.service',
    'slots.service',
    'warden.socket',
    'credentials.socket',
    'slots.socket',
  ]
    .map((name) => `${service}-${name}`)
    .filter((name) => files.some((path) => path.endsWith(`system/${name}`)));

function starts(service: string, files: readonly string[]): void {
  const steps = [
    ['systemd-tmpfiles', '--create', `${service}.conf`],
    ['udevadm', 'control', '--reload'],
    ['systemctl', 'daemon-reload'],
    // A socket cannot be made anew while its service runs.
    ['systemctl', 'stop', ...unitsOf(service, files)],
    ['systemctl', 'start', `${service}-warden.socket`, `${service}-credentials.socket`, `${service}-core.service`],
  ] as const;
  // The next boot does it where the system has AppArmor; a Core that starts now is to be under its profile, too.
  if (existsSync('/sys/kernel/security/apparmor/features'))
    runTool('apparmor_parser', '--replace', `/etc/apparmor.d/${service}-core`);
  for (const [tool, ...args] of steps) {
    const ran = runTool(tool, ...args);
    // A container has no udev.
    if (tool === 'udevadm') continue;
    if (!ran?.ok)
      throw new Failure(
        EXIT.answered,
        'INTERNAL',
        `${tool} ${args.join(' ')}: ${ran?.stderr ?? 'it is not installed'}`,
        {
          hint: `see: journalctl -u ${service}-core`,
        },
      );
  }
}

interface Told extends Values {
  readonly files: SystemFiles;
  /** Files of the code. */
  readonly count: number;
  readonly done: boolean;
}

async function told(
  out: ProgramOutput,
  root: Root,
  { service, prefix, files: { texts, links }, count, done }: Told,
): Promise<void> {
  if (out.json) {
    const files = [...Object.keys(texts), ...Object.keys(links)];
    return out.line(JSON.stringify({ ok: true, service, root: root.folder, prefix, files, code: count, done }));
  }
  await out.line(`${done ? 'installed' : 'would install'} ${service} to ${root.folder}`);
  if (count > 0) await out.line(`  ${prefix}: ${count} files of the Core`);
  for (const path of Object.keys(texts)) await out.line(`  /${path}`);
  for (const [path, to] of Object.entries(links)) await out.line(`  /${path} -> ${to}`);
  if (done && root.live && count > 0) await out.line(`started: systemctl status ${service}-core`);
  else if (done) await out.line('it starts with the next boot of that system');
}
