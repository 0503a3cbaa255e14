import { defineProgram, type ProgramContext } from '@device-core/plugin-api/program';
import type { AppStatus } from '@device-core/plugin-api/services/apps';

interface Args {
  readonly app?: string;
}

/** `devicectl token` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    properties: {
      app: { type: 'string', description: 'the token of this running app instead, by its id or its name' },
    },
  },
  async run(context) {
    const { args, target, out } = context;
    const token = args.app === undefined ? target.operatorToken() : await ofApp(context, args.app);
    await out.line(out.json ? JSON.stringify({ token }) : token);
  },
});

/** The file of a token is named after the name of the app. */
async function ofApp({ client, target }: ProgramContext<Args>, app: string): Promise<string> {
  if (!app.includes('.')) return target.appToken(app);
  const { body } = await client.get(`/apps/${encodeURIComponent(app)}`);
  return target.appToken((body.app as AppStatus).name);
}
