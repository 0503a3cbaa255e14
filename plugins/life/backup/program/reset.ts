import { defineProgram } from '@device-core/plugin-api/program';
import { sure, YES } from './sure.ts';

const WHAT = 'throws away settings, installed apps, their data and every log of the device';

/** `devicectl system reset` */
export const program = defineProgram<{ readonly yes?: boolean }>({
  description:
    'Settings, apps that were installed, their data and every log go; slots and the history of updates stay. It happens at the next start.',
  params: { type: 'object', properties: { yes: YES } },
  async run({ client, out, args, signal }) {
    await sure(WHAT, args.yes, out, signal);
    const answer = await client.post('/system/reset', {});
    if (out.json) return out.line(answer.text);
    const { restarts, reason } = answer.body;
    await out.line(restarts ? 'it is reset now' : `it is reset at the next start: ${String(reason)}`);
  },
});
