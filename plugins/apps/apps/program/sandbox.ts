import { cell, defineProgram } from '@device-core/plugin-api/program';
import type { Sandbox } from '../sandbox-operation.ts';

interface Args {
  readonly app: string;
  readonly unit?: boolean;
  readonly bwrap?: boolean;
  readonly apparmor?: boolean;
}

/** `devicectl app sandbox` */
export const program = defineProgram<Args>({
  description: 'What it sees, in short; or the text that the system is given.',
  params: {
    type: 'object',
    required: ['app'],
    properties: {
      app: { type: 'string', description: 'id or short name' },
      unit: { type: 'boolean', description: 'the unit of systemd' },
      bwrap: { type: 'boolean', description: 'the command of bubblewrap' },
      apparmor: { type: 'boolean', description: 'the profile of AppArmor' },
    },
  },
  async run({ client, out, args }) {
    const answer = await client.get(`/apps/${encodeURIComponent(args.app)}/sandbox`);
    if (out.json) return out.line(answer.text);
    const sandbox = answer.body as unknown as Sandbox;
    for (const line of linesOf(sandbox, args)) await out.line(line);
  },
});

export function linesOf(sandbox: Sandbox, { unit, bwrap, apparmor }: Omit<Args, 'app'>): readonly string[] {
  if (unit) return [sandbox.unit, ...(sandbox.egressUnit ? [sandbox.egressUnit] : [])].flatMap((text) => shown(text));
  if (bwrap) return sandbox.bwrap.map(cell);
  if (apparmor) return shown(sandbox.apparmor);
  const { spec, enforcement, problem } = sandbox;
  const { files, sockets, devices, hosts, network, listen, limits, uid } = spec;
  const reached = hosts.map(({ host, ports }) => ports.map((port) => `${host}:${port}`).join(' ')).join(' ');
  return [
    `${spec.id} ${spec.version}, ${spec.runtime}: ${[spec.program, ...spec.args].join(' ')}`,
    `  user     ${uid ?? "the Core's, in a separate namespace"}`,
    `  reads    ${files.read.join(' ')}`,
    `  writes   ${files.write.join(' ') || 'nothing; storage-scoped would give it two folders'}`,
    `  sockets  ${sockets.join(' ')}`,
    `  network  ${network === 'hosts' ? reached : network}${listen ? ', and listens' : ''}`,
    `  devices  ${devices.map(({ name, path, access }) => `${name} (${path}, ${access})`).join(' ') || 'none'}`,
    `  limits   ${Object.entries(limits)
      .map(([name, most]) => `${name} ${most}`)
      .join(', ')}`,
    `  enforced by ${enforcement.by}: ${Object.entries(enforcement.enforced)
      .map(([kind, how]) => `${kind} ${how}`)
      .join(', ')}`,
    ...(problem === undefined ? [] : [`  it cannot run: ${problem}`]),
  ].map(cell);
}

function shown(text: string): readonly string[] {
  return text.split('\n').map(cell);
}
